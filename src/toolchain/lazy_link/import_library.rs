//! Import libraries, with which a program is linked to a DLL. The format:
//! <https://learn.microsoft.com/windows/win32/debug/pe-format#archive-library-file-format>.

const ARCHIVE: &[u8] = b"!<arch>\n";
/// The size of the header in front of each member, and of the header of an import.
const MEMBER: usize = 60;
const IMPORT: usize = 20;

/// The DLL of an import library, and its functions.
#[derive(Debug, PartialEq)]
pub struct ImportLibrary {
    pub dll: String,
    pub functions: Vec<String>,
}

impl ImportLibrary {
    /// Reads the imports. Returns `None` for any other file, such as the `cuda.lib` and `cudart.lib` of CUDA 13, which
    /// contain functions that open the DLL themselves.
    pub fn read(file: &[u8]) -> Option<Self> {
        let mut members = file.strip_prefix(ARCHIVE)?;
        let mut library = Self {
            dll: String::new(),
            functions: Vec::new(),
        };
        while let Some((head, rest)) = members.split_at_checked(MEMBER) {
            let size = std::str::from_utf8(&head[48..58]).ok()?;
            let size: usize = size.trim().parse().ok()?;
            library.add(rest.get(..size)?);
            // Members start at even offsets.
            members = rest.get(size + size % 2..).unwrap_or_default();
        }
        (!library.functions.is_empty()).then_some(library)
    }

    /// Adds the function of an import. Other members are object files.
    fn add(&mut self, member: &[u8]) {
        let Some((head, names)) = member.split_at_checked(IMPORT) else {
            return;
        };
        let is_import = head.starts_with(&[0, 0, 0xff, 0xff]);
        // The lowest two bits are 0 for code.
        let is_code = head[18] & 3 == 0;
        let mut names = names.split(|byte| *byte == 0);
        if let (true, Some(name), Some(dll)) = (is_import && is_code, names.next(), names.next()) {
            // Programs built with GNU tools cannot call the C++ functions of Microsoft's compiler: `?get@Context@@QEBAHXZ`.
            if !name.starts_with(b"?") {
                self.functions
                    .push(String::from_utf8_lossy(name).into_owned());
            }
            self.dll = String::from_utf8_lossy(dll).into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(content: &[u8]) -> Vec<u8> {
        let mut head = format!("{:48}{:<10}`\n", "x.dll/", content.len()).into_bytes();
        head.extend(content);
        if content.len() % 2 == 1 {
            head.push(b'\n');
        }
        head
    }

    fn import(kind: u8, name: &str) -> Vec<u8> {
        let mut content = vec![0, 0, 0xff, 0xff];
        content.resize(IMPORT, 0);
        content[18] = kind;
        content.extend(name.as_bytes());
        content.extend(b"\0curand64_10.dll\0");
        member(&content)
    }

    #[test]
    fn functions_of_c_are_read_and_others_are_not() {
        let object = member(b"d\x86 an object file of odd length.");
        let parts = [
            object,
            import(4, "curandA"),
            import(5, "curandState"),
            import(4, "?get@Context@@QEBAHXZ"),
            import(4, "curandB2"),
        ];
        let file = [ARCHIVE.to_vec(), parts.concat()].concat();
        let library = ImportLibrary::read(&file).unwrap();
        assert_eq!(library.dll, "curand64_10.dll");
        assert_eq!(library.functions, ["curandA", "curandB2"]);
    }

    #[test]
    fn other_files_are_not_import_libraries() {
        let object = member(b"d\x86 an object file");
        assert_eq!(ImportLibrary::read(&[ARCHIVE, &object].concat()), None);
        assert_eq!(ImportLibrary::read(ARCHIVE), None);
        assert_eq!(ImportLibrary::read(b"text"), None);
        let whole = [ARCHIVE, &import(4, "curandA")].concat();
        for length in 0..whole.len() - 1 {
            assert_eq!(ImportLibrary::read(&whole[..length]), None, "{length}");
        }
    }
}
