//! Installations that a case names in one line, in `[files]` and in `[fix]`.
//!
//! ```text
//! CUDA 12.8 in usr/local/cuda         bin/nvcc, include/cuda.h and lib64/libcudart.so
//! CUDA 12.8 in opt/cuda, libraries in lib
//! CUDA 13.0 in venv/cu13, as in a wheel
//!                                     lib/libcudart.so.13
//! CUDA 12.8 in opt/cuda, without nvcc
//! headers of CUDA 12.8 in usr/include
//! cuDNN 9.14.0 in opt/dnn             headers in include, libraries in lib
//! headers of cuDNN 9.14.0 in usr/include
//! versioned headers of cuDNN 9.14.0 in usr/include
//!                                     cudnn_v9.h and cudnn_version_v9.h, as in Debian's packages
//! wheel of cuDNN 9.14.0 for CUDA 13 in venv/lib/python3.12/site-packages
//!                                     headers and libraries in nvidia/cudnn, and the record of the wheel
//! libraries of cuDNN 9.14.0 in usr/lib
//!                                     all sub-libraries, each as in NVIDIA's archive: libcudnn.so is a link to
//!                                     libcudnn.so.9, which is a link to libcudnn.so.9.14.0
//! libraries of cuDNN 9.14.0 in usr/lib64, as in a runtime package
//!                                     the sub-libraries that convolutions need: libcudnn.so.9 is a link to
//!                                     libcudnn.so.9.14.0
//! libraries of cuDNN 9.14.0 in venv/lib, as in a wheel
//!                                     the sub-libraries that convolutions need: libcudnn.so.9 is a file
//! libraries of cuDNN 9.14.0 in usr/lib, without cnn ops
//!                                     without these sub-libraries; `cudnn` stands for libcudnn.so.9
//! ```
//!
//! In a build for Windows, the files have their names on Windows: bin/nvcc.exe, lib/x64/cudart.lib, bin/cudnn64_9.dll
//! and lib/x64/cudnn.lib. The DLLs that convolutions need are installed, with their versions and imports.
//! `without versions` installs DLLs without properties.

use crate::runtime::facts::{Version, sub_libraries};

/// Replaces each line that names an installation by the entries of its files.
pub fn expand(lines: &[String], is_windows: bool) -> Vec<String> {
    let mut entries = Vec::new();
    for line in lines {
        match Installed::parse(line, is_windows) {
            Some(installed) => entries.extend(installed.entries()),
            None => entries.push(line.clone()),
        }
    }
    entries
}

struct Installed<'a> {
    /// `headers of cuDNN`
    what: &'a str,
    version: &'a str,
    /// The major of the wheel's CUDA.
    cuda: &'a str,
    dir: &'a str,
    /// `as in a wheel`
    form: &'a str,
    without: Vec<&'a str>,
    is_windows: bool,
}

impl<'a> Installed<'a> {
    fn parse(line: &'a str, is_windows: bool) -> Option<Self> {
        let (what, place) = line.split_once(" in ")?;
        let (what, cuda) = what.split_once(" for CUDA ").unwrap_or((what, ""));
        let (what, version) = what.rsplit_once(' ')?;
        let mut words = place.split(", ");
        let mut installed = Self {
            what,
            version,
            cuda,
            dir: words.next()?,
            form: "",
            without: Vec::new(),
            is_windows,
        };
        for word in words {
            match word.strip_prefix("without ") {
                Some(names) if names != "versions" => {
                    installed.without = names.split(' ').collect()
                }
                _ => installed.form = word,
            }
        }
        let known = [
            "CUDA",
            "cuDNN",
            "headers of CUDA",
            "headers of cuDNN",
            "versioned headers of cuDNN",
            "libraries of cuDNN",
            "wheel of cuDNN",
        ];
        known.contains(&what).then_some(installed)
    }

    fn entries(&self) -> Vec<String> {
        let (dir, include) = (self.dir, format!("{}/include", self.dir));
        match (self.what, self.is_windows) {
            ("headers of CUDA", _) => self.cuda_headers(dir),
            ("headers of cuDNN", _) => self.headers(dir, ""),
            ("versioned headers of cuDNN", _) => {
                self.headers(dir, &format!("_v{}", self.number().major))
            }
            ("wheel of cuDNN", _) => self.wheel(),
            ("libraries of cuDNN", false) => self.libraries(dir),
            ("libraries of cuDNN", true) => self.dlls(dir),
            ("CUDA", _) => [self.cuda_headers(&include), self.toolkit()].concat(),
            (_, false) => [
                self.headers(&include, ""),
                self.libraries(&format!("{dir}/lib")),
            ]
            .concat(),
            (_, true) => {
                let mut entries = self.headers(&include, "");
                entries.extend(self.dlls(&format!("{dir}/bin")));
                entries.push(format!("{dir}/lib/x64/cudnn.lib (empty)"));
                entries
            }
        }
    }

    fn number(&self) -> Version {
        Version::parse(self.version).unwrap_or_else(|| panic!("{:?} is no version", self.version))
    }

    fn cuda_headers(&self, dir: &str) -> Vec<String> {
        let version = self.number();
        let number = version.major * 1000 + version.minor * 10;
        vec![
            format!("{dir}/cuda.h"),
            format!("    #define CUDA_VERSION {number}"),
        ]
    }

    fn toolkit(&self) -> Vec<String> {
        let (dir, major) = (self.dir, self.number().major);
        if self.is_windows {
            return vec![
                format!("{dir}/bin/nvcc.exe (empty)"),
                format!("{dir}/lib/x64/cudart.lib (empty)"),
            ];
        }
        let library = match self.form {
            "" => "lib64/libcudart.so".to_string(),
            "libraries in lib" => "lib/libcudart.so".to_string(),
            "as in a wheel" => format!("lib/libcudart.so.{major}"),
            form => panic!("{form:?} is no form of CUDA"),
        };
        let mut entries = vec![format!("{dir}/{library} (elf)")];
        if self.without.is_empty() {
            entries.push(format!("{dir}/bin/nvcc (failing program)"));
        }
        entries
    }

    fn headers(&self, dir: &str, suffix: &str) -> Vec<String> {
        let version = self.number();
        vec![
            format!("{dir}/cudnn{suffix}.h"),
            format!("    #include \"cudnn_version{suffix}.h\""),
            format!("{dir}/cudnn_version{suffix}.h"),
            format!("    #define CUDNN_MAJOR {}", version.major),
            format!("    #define CUDNN_MINOR {}", version.minor),
            format!("    #define CUDNN_PATCHLEVEL {}", version.patch),
        ]
    }

    fn wheel(&self) -> Vec<String> {
        let (site, version, cuda) = (self.dir, self.version, self.cuda);
        let line = format!("cuDNN {version} in {site}/nvidia/cudnn, as in a wheel");
        let mut entries = expand(&[line], false);
        let info = format!("nvidia_cudnn_cu{cuda}-{version}.0.dist-info");
        entries.push(format!("{site}/{info}/RECORD"));
        entries.push("    nvidia/cudnn/lib/libcudnn.so,,".to_string());
        entries
    }

    fn libraries(&self, dir: &str) -> Vec<String> {
        let (version, major) = (self.version, self.number().major);
        let mut entries = Vec::new();
        for name in self.names(self.form.is_empty()) {
            let stem = match name {
                "cudnn" => "libcudnn.so".to_string(),
                name => format!("libcudnn_{name}.so"),
            };
            let numbered = format!("{dir}/{stem}.{major}");
            match self.form {
                "as in a wheel" => entries.push(format!("{numbered} (elf)")),
                "" | "as in a runtime package" => {
                    entries.push(format!("{numbered} -> {stem}.{version}"));
                    entries.push(format!("{dir}/{stem}.{version} (elf)"));
                }
                form => panic!("{form:?} is no form of cuDNN"),
            }
            if self.form.is_empty() {
                entries.push(format!("{dir}/{stem} -> {stem}.{major}"));
            }
        }
        entries
    }

    fn dlls(&self, dir: &str) -> Vec<String> {
        let (release, major) = (self.version, self.number().major);
        let mut entries = Vec::new();
        for name in self.names(false) {
            let stem = match name {
                "cudnn" => "cudnn".to_string(),
                name => format!("cudnn_{name}"),
            };
            let properties = match name {
                _ if self.form == "without versions" => String::new(),
                "cudnn" => format!(" version {release}"),
                "graph" => " exports one two, imports bcrypt.dll a".to_string(),
                _ => format!(
                    " version {release}, imports KERNEL32.dll LoadLibraryExA, \
                     imports cudnn_graph64_{major}.dll one two"
                ),
            };
            entries.push(format!("{dir}/{stem}64_{major}.dll (dll{properties})"));
        }
        entries
    }

    /// Returns the libraries that are installed: all, or those that convolutions need.
    fn names(&self, all: bool) -> Vec<&'static str> {
        let version = self.number();
        let all: Vec<&str> = match all {
            true => sub_libraries::of_release(version)
                .iter()
                .map(|one| one.name)
                .collect(),
            false => sub_libraries::needed(version, false),
        };
        let mut names = [&["cudnn"], &all[..]].concat();
        for name in &self.without {
            assert!(
                names.contains(name),
                "{name:?} is no sub-library of {version}"
            );
        }
        names.retain(|name| !self.without.contains(name));
        names
    }
}
