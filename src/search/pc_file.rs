//! What a .pc file says of the package that it describes: <https://linux.die.net/man/1/pkg-config>.
//!
//! The files are read here and the program is not called: of all it knows, only the directories matter, and these are
//! the same below a root, for another processor, and where nobody installed pkg-config.

use crate::model::platform::Platform;
use crate::search::install_layout;
use crate::search::search_step::{Kind, Tree};
use std::path::{Path, PathBuf};

/// No value of a real one is longer; one that names itself twice would double without end.
const LONGEST: usize = 4096;

/// The directories that a package names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Package {
    /// The one that it is installed in: NVIDIA's call it `cudaroot`, others `prefix`.
    pub root: Option<PathBuf>,
    /// Those of its headers.
    pub include: Vec<PathBuf>,
    /// Those of its libraries, without stubs.
    pub lib: Vec<PathBuf>,
}

/// Whether a file of this name may describe CUDA's runtime or cuDNN: `cudart-12.4.pc`, `cuda.pc`, `cudnn.pc`. With the
/// numbers in it, by which the newest goes first.
pub fn release_in_name(name: &str, kind: Kind) -> Option<Vec<u32>> {
    let stem = name.strip_suffix(".pc")?;
    let known: &[&str] = match kind {
        Kind::Toolkit => &["cudart", "cuda"],
        Kind::Cudnn => &["cudnn"],
    };
    known.iter().find_map(|known| {
        let rest = stem.strip_prefix(known)?;
        let Some(numbers) = rest.strip_prefix('-') else {
            // Without a number it is the one that the machine's owner made the usual one.
            return rest.is_empty().then(|| vec![u32::MAX]);
        };
        numbers
            .split('.')
            .map(|number| number.parse().ok())
            .collect()
    })
}

/// Reads one. What it says is taken below the system's root, as for PKG_CONFIG_SYSROOT_DIR.
pub fn parse(text: &str, file: &Path, sysroot: Option<&Path>) -> Package {
    let own = file.parent().unwrap_or(file).to_string_lossy().into_owned();
    let top = sysroot
        .unwrap_or(Path::new("/"))
        .to_string_lossy()
        .into_owned();
    let mut variables = vec![
        ("pcfiledir".to_string(), own),
        ("pc_sysrootdir".to_string(), top),
    ];
    let mut package = Package::default();
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").lines() {
        let line = line.split_once('#').map_or(line, |(line, _)| line).trim();
        let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
        let (name, rest) = line.split_at(end.unwrap_or(line.len()));
        let rest = rest.trim_start();
        if let Some(value) = rest.strip_prefix('=') {
            let value = expanded(value.trim(), &variables);
            variables.insert(0, (name.to_string(), value));
        } else if let Some(value) = rest.strip_prefix(':') {
            let words = words(&expanded(value.trim(), &variables));
            match name {
                "Cflags" | "CFlags" => package.include = named(&words, &["-I", "-isystem"]),
                "Libs" => package.lib = named(&words, &["-L"]),
                _ => {}
            }
        }
    }
    let root = ["cudaroot", "prefix"].iter().find_map(|name| {
        let (_, value) = variables.iter().find(|(known, _)| known == name)?;
        words(value).into_iter().next()
    });
    package.root = root.map(PathBuf::from);
    package.lib.retain(|dir| !dir.ends_with("stubs"));
    for dir in package.dirs() {
        *dir = below(dir, sysroot);
    }
    package
}

impl Package {
    /// All that it names.
    pub fn dirs(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let named = self.include.iter_mut().chain(&mut self.lib);
        self.root.iter_mut().chain(named)
    }

    /// Where to look: what it names, then what is usual round it. None if it names no directory.
    pub fn tree(&self, kind: Kind, platform: &Platform) -> Option<Tree> {
        let mut named = self.include.iter().chain(&self.lib);
        let root = match &self.root {
            Some(root) => root,
            None => named.next()?.parent()?,
        };
        if !root.is_absolute() {
            return None;
        }
        let mut tree = match (kind, root.ends_with("usr")) {
            (Kind::Toolkit, false) => install_layout::toolkit(platform, root, ""),
            (Kind::Toolkit, true) => install_layout::system_toolkit(platform, root),
            (Kind::Cudnn, false) => install_layout::cudnn(platform, root, ""),
            (Kind::Cudnn, true) => install_layout::system_cudnn(platform, root),
        };
        let absolute = |dirs: &[PathBuf]| -> Vec<PathBuf> {
            dirs.iter()
                .filter(|dir| dir.is_absolute())
                .cloned()
                .collect()
        };
        tree.include.splice(0..0, absolute(&self.include));
        tree.lib.splice(0..0, absolute(&self.lib));
        Some(tree)
    }
}

/// With the values of variables in place of `${name}`; `$$` is one `$`. One that is not known is nothing.
fn expanded(text: &str, variables: &[(String, String)]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = after
            .strip_prefix('{')
            .and_then(|name| name.split_once('}'))
        {
            let known = variables.iter().find(|(known, _)| known == name);
            out.push_str(known.map_or("", |(_, value)| value));
            rest = after;
        } else {
            out.push('$');
            rest = after;
        }
        if out.len() > LONGEST {
            return String::new();
        }
    }
    out + rest
}

/// The words as a shell would split them: that is what the program prints them for.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let plain = match (letter, quote) {
            (_, Some(mark)) if letter == mark => {
                quote = None;
                continue;
            }
            ('"' | '\'', None) => {
                quote = Some(letter);
                None
            }
            (letter, None) if letter.is_whitespace() => {
                open = false;
                continue;
            }
            ('\\', None) => letters.next(),
            ('\\', Some('"')) if escapes(letters.clone().next()) => letters.next(),
            _ => Some(letter),
        };
        if !open {
            words.push(String::new());
            open = true;
        }
        words
            .last_mut()
            .into_iter()
            .for_each(|word| word.extend(plain));
    }
    words
}

/// Whether a backslash before it means anything within double quotes.
fn escapes(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| ['"', '\\', '$', '`'].contains(&letter))
}

/// The directories behind such flags, be they one word with theirs or two.
fn named(words: &[String], flags: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(dir) = flags.iter().find_map(|flag| word.strip_prefix(flag)) {
            let dir = if dir.is_empty() {
                words.next().map_or("", |next| next)
            } else {
                dir
            };
            found.extend(Some(PathBuf::from(dir)).filter(|_| !dir.is_empty()));
        }
    }
    found
}

fn below(dir: &Path, sysroot: Option<&Path>) -> PathBuf {
    match (sysroot, dir.strip_prefix("/")) {
        (Some(sysroot), Ok(rest)) if !dir.starts_with(sysroot) => sysroot.join(rest),
        _ => dir.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As NVIDIA's packages write them.
    const CUDART: &str = "cudaroot=/usr/local/cuda-12.4\n\
        libdir=${cudaroot}/targets/x86_64-linux/lib\n\
        includedir=${cudaroot}/targets/x86_64-linux/include\n\n\
        Name: cudart\nDescription: CUDA Runtime Library\nVersion: 12.4\n\
        Libs: -L${libdir} -lcudart\nCflags: -I${includedir}\n";

    fn paths<const N: usize>(paths: [&str; N]) -> Vec<PathBuf> {
        paths.map(PathBuf::from).to_vec()
    }

    #[test]
    fn the_directories_of_a_package() {
        let file = Path::new("/usr/share/pkgconfig/cudart-12.4.pc");
        let found = parse(CUDART, file, None);
        let targets = "/usr/local/cuda-12.4/targets/x86_64-linux";
        assert_eq!(
            found,
            Package {
                root: Some("/usr/local/cuda-12.4".into()),
                include: vec![Path::new(targets).join("include")],
                lib: vec![Path::new(targets).join("lib")],
            }
        );
        // Debian's, which leads to the driver's stub alone.
        let debian = "prefix=/usr\nincludedir=${prefix}/include\nlibdir=/usr/lib/x86_64-linux-gnu\n\
            Libs: -L${libdir}/stubs -lcuda\nCflags: -I${includedir}\n";
        let found = parse(debian, file, None);
        assert_eq!(
            (found.lib, found.include),
            (vec![], paths(["/usr/include"]))
        );
    }

    #[test]
    fn what_a_package_says_is_below_the_root_of_its_system() {
        let file = Path::new("/image/usr/share/pkgconfig/cudart-12.4.pc");
        let found = parse(CUDART, file, Some(Path::new("/image")));
        assert_eq!(found.root, Some("/image/usr/local/cuda-12.4".into()));
        let moved = "prefix=${pcfiledir}/../..\nCflags: -I${prefix}/include\n";
        let found = parse(moved, file, Some(Path::new("/image")));
        assert_eq!(found.root, Some("/image/usr/share/pkgconfig/../..".into()));
        let with_sysroot = "prefix=${pc_sysrootdir}/opt/cuda\n";
        let found = parse(with_sysroot, file, Some(Path::new("/image")));
        assert_eq!(found.root, Some("/image/opt/cuda".into()));
    }

    #[test]
    fn odd_files_are_read_as_far_as_they_go() {
        let file = Path::new("/a/pkgconfig/cuda.pc");
        let read = |text: &str| {
            let found = parse(text, file, None);
            (found.root, found.include, found.lib)
        };
        assert_eq!(
            read(
                "prefix = \"/opt/a b\" # the root\r\nodd=$$x$\r\n\
                 Cflags: \"-I/opt/a b/include\" -I /c -isystem /d\\ e '-I/f \"g' \\\n -I/h ${none}-I${odd} -I\r\n\
                 Libs: -L'/opt/a b/lib' -L\n"
            ),
            (
                Some("/opt/a b".into()),
                paths(["/opt/a b/include", "/c", "/d e", "/f \"g", "/h", "$x$"]),
                paths(["/opt/a b/lib"])
            )
        );
        for text in [
            "",
            "=",
            ":",
            "prefix",
            "prefix=",
            "Cflags:",
            "Cflags: -I",
            "${",
            "é=é",
            "prefix=${prefix}",
        ] {
            assert_eq!(read(text), (None, vec![], vec![]), "{text:?}");
        }
        let doubled: String = (1..64)
            .map(|n| format!("a{n}=${{a{0}}}${{a{0}}}x\n", n - 1))
            .collect();
        let (root, ..) = read(&format!("{doubled}prefix=${{a63}}\n"));
        assert!(root.is_none_or(|root| root.as_os_str().len() <= LONGEST));
    }

    #[test]
    fn names_and_the_order_among_them() {
        let release = |name, kind| release_in_name(name, kind);
        assert_eq!(
            release("cudart-12.10.pc", Kind::Toolkit),
            Some(vec![12, 10])
        );
        assert!(release("cuda-12.10.pc", Kind::Toolkit) > release("cuda-12.9.pc", Kind::Toolkit));
        assert!(release("cuda.pc", Kind::Toolkit) > release("cuda-13.0.pc", Kind::Toolkit));
        assert!(release("cudnn.pc", Kind::Cudnn).is_some());
        for other in [
            "cuda",
            "cudart64.pc",
            "cuda-.pc",
            "cuda-x.pc",
            "cudnn.pc",
            "cublas-12.4.pc",
        ] {
            assert_eq!(release(other, Kind::Toolkit), None, "{other}");
        }
    }
}
