//! Folder names of tasks: one for one, whatever the task is called.

use assignor::TaskId;

/// The task's folder: its name, with every byte but letters, digits, `_` and `-` as `%XX`.
pub(crate) fn folder_of(task: &TaskId) -> String {
    let mut name = String::new();
    for &byte in task.as_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    name
}

/// The task of a folder; `None` for a folder that is no task's.
pub(crate) fn task_of(folder: &str) -> Option<TaskId> {
    let mut bytes = Vec::new();
    let mut rest = folder.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b'%' {
            let hex = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    let task = TaskId::from(String::from_utf8(bytes).ok()?);
    (folder_of(&task) == folder).then_some(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_folder_and_comes_back() {
        for name in ["T1", "0_3", "../up", "a b", "ä%2F", ""] {
            let folder = folder_of(&TaskId::from(name));
            assert!(!folder.contains(['/', '.']), "{folder}");
            assert_eq!(task_of(&folder), Some(TaskId::from(name)));
        }
        assert_eq!(task_of("lost+found"), None);
        assert_eq!(task_of("%4"), None);
    }
}
