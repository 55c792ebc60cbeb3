//! Python wheels, as `pip install --target` leaves them in a folder.

use crate::fetch::record::{self, RecordedFile};
use crate::terminal::harmless;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// An installed wheel.
#[derive(Debug)]
pub struct Wheel {
    /// Its name as its folder spells it: `nvidia_cudnn_cu13`.
    pub name: String,
    /// Its release: `9.14.0.64`.
    pub version: String,
    /// Its record: `nvidia_cudnn_cu13-9.14.0.64.dist-info`.
    pub info: PathBuf,
}

/// The wheels in a folder, by name.
pub fn installed(dir: &Path) -> Vec<Wheel> {
    let mut wheels: Vec<Wheel> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let folder = entry.file_name();
            let (name, version) = folder
                .to_str()?
                .strip_suffix(".dist-info")?
                .split_once('-')?;
            Some(Wheel {
                name: name.to_ascii_lowercase().replace(['-', '.'], "_"),
                version: version.to_string(),
                info: entry.path(),
            })
        })
        .collect();
    wheels.sort_by(|one, other| one.name.cmp(&other.name));
    wheels
}

impl Wheel {
    /// Its files, as its RECORD has them.
    pub fn files(&self) -> Result<Vec<RecordedFile>, String> {
        match fs::read_to_string(self.info.join("RECORD")) {
            Ok(text) => Ok(record::parse(&text).collect()),
            Err(_) => Err("it has no RECORD".to_string()),
        }
    }

    /// The first file of the wheel that is missing or of another size.
    pub fn damage(&self) -> Option<String> {
        let dir = self.info.parent()?;
        match self.files() {
            Ok(files) => files.iter().find_map(|file| {
                let damage = file.damage_at_a_glance(dir)?;
                Some(harmless(&format!("{} {damage}", file.path)))
            }),
            Err(why) => Some(why),
        }
    }

    /// The texts of its licence.
    pub fn licences(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = ["licenses", "license_files", "."]
            .iter()
            .flat_map(|folder| fs::read_dir(self.info.join(folder)).into_iter().flatten())
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                path.is_file()
                    && path.file_name().is_some_and(|name| {
                        name.to_string_lossy()
                            .to_ascii_lowercase()
                            .starts_with("license")
                    })
            })
            .collect();
        found.sort();
        found
    }
}

/// Gives a folder of wheels what compilers and other crates expect of an installation: `libcudnn.so` beside
/// `libcudnn.so.9`, and `lib64` beside `lib`. What is there already stays.
pub fn add_developer_view(folder: &Path) -> io::Result<()> {
    let lib = folder.join("lib");
    if !lib.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(&lib)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some((stem, _)) = name.split_once(".so.") {
            link(Path::new(name), &lib.join(format!("{stem}.so")))?;
        }
    }
    link(Path::new("lib"), &folder.join("lib64"))
}

/// Where releases of cuDNN look for cuBLAS and NVRTC, and their wheels have nothing: up to 9.14 for CUDA 13, and up to
/// 9.1 before.
const NEIGHBOURS: [(&str, &str); 3] = [
    ("nvidia/cublas", "../cu13/lib"),
    ("nvidia/cuda_nvrtc", "../cu13/lib"),
    ("nvidia/nvrtc", "../cuda_nvrtc/lib"),
];

/// Links those to where the libraries are.
pub fn add_neighbours(home: &Path, cuda: u32) -> io::Result<()> {
    for (folder, to) in NEIGHBOURS {
        if (cuda == 13) == to.contains("cu13") {
            fs::create_dir_all(home.join(folder))?;
            link(Path::new(to), &home.join(folder).join("lib"))?;
        }
    }
    Ok(())
}

/// Removes them.
pub fn remove_neighbours(home: &Path) -> io::Result<()> {
    for (folder, _) in NEIGHBOURS {
        let folder = home.join(folder);
        if is_neighbour(&folder) {
            fs::remove_dir_all(folder)?;
        }
    }
    Ok(())
}

/// Whether a folder is one of those.
pub fn is_neighbour(folder: &Path) -> bool {
    let to = fs::read_link(folder.join("lib")).ok();
    NEIGHBOURS
        .iter()
        .any(|(name, known)| folder.ends_with(name) && to.as_deref() == Some(Path::new(known)))
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) -> io::Result<()> {
    if at.symlink_metadata().is_ok() {
        return Ok(());
    }
    std::os::unix::fs::symlink(to, at)
}

#[cfg(not(unix))]
fn link(_to: &Path, _at: &Path) -> io::Result<()> {
    // Windows links against import libraries; there is nothing to add.
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_cudnn_opens_is_found_where_older_releases_look() {
        let name = format!("cudnn-guard-neighbours-{}", std::process::id());
        let home = std::env::temp_dir().join(name);
        fs::create_dir_all(home.join("nvidia/cu13/lib")).expect("a folder");
        for file in ["libcublasLt.so.13", "libnvrtc.so.13"] {
            fs::write(home.join("nvidia/cu13/lib").join(file), "").expect("a file");
        }
        add_neighbours(&home, 13).expect("links");
        add_neighbours(&home, 13).expect("links that are there");
        for file in [
            "cublas/lib/libcublasLt.so.13",
            "cuda_nvrtc/lib/libnvrtc.so.13",
        ] {
            assert!(home.join("nvidia").join(file).is_file(), "{file}");
        }
        fs::remove_dir_all(&home).expect("room again");
    }
}
