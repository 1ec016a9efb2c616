//! Names of tasks, members and instances. They sort naturally: S2 before S10.

use std::cmp::Ordering;
use std::fmt;

use arcstr::ArcStr;

/// Compares two names so that runs of digits count as numbers: `S2 < S10`, `0_9 < 0_10`.
///
/// Names that are equal as numbers but differ as text (`S1`, `S01`) are ordered by their text, so that the order is
/// total and agrees with equality.
#[must_use]
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    while let (Some(&p), Some(&q)) = (x.first(), y.first()) {
        let step = if p.is_ascii_digit() && q.is_ascii_digit() {
            let (m, n) = (digits(x), digits(y));
            let (u, v) = (significant(&x[..m]), significant(&y[..n]));
            x = &x[m..];
            y = &y[n..];
            u.len().cmp(&v.len()).then_with(|| u.cmp(v))
        } else {
            x = &x[1..];
            y = &y[1..];
            p.cmp(&q)
        };
        if step != Ordering::Equal {
            return step;
        }
    }
    x.len().cmp(&y.len()).then_with(|| a.cmp(b))
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn significant(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|&&b| b == b'0').count();
    &digits[zeros..]
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash)]
        pub struct $name(ArcStr);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                natural(&self.0, &other.0)
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// One partition's processing, e.g. `T1` or `0_3`.
    TaskId
}
name! {
    /// A member of the group: a worker, e.g. `S1`.
    MemberId
}
name! {
    /// A container of workers that share a state directory and a restorer, e.g. `I1`.
    InstanceId
}
