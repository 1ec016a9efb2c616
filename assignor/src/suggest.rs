//! "Did you mean": the nearest of some known names.

/// The known name that is fewest edits away from `name`, if those are at most a third of its letters (or two).
pub(crate) fn nearest(name: &str, known: &[String]) -> Option<String> {
    let most = (name.chars().count() / 3).max(2);
    let by_distance = known.iter().map(|candidate| (distance(name, candidate), candidate));
    by_distance.filter(|&(edits, _)| edits <= most).min().map(|(_, candidate)| candidate.clone())
}

/// Letters to insert, delete or replace, upper and lower case being the same.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["eager".to_owned(), "learner".to_owned()];
        assert_eq!(nearest("lerner", &known).as_deref(), Some("learner"));
        assert_eq!(nearest("EAGRE", &known).as_deref(), Some("eager"));
        assert_eq!(nearest("sticky", &known), None);
    }
}
