//! Tests of the search path.

use crate::loader::linkage;
use crate::runtime::loader::elf::search_list::preloads;
use crate::runtime::loader::{LoadOrigin, Loader, SearchPath, System, hwcaps_order};
use crate::system::library_file::made_dll::DllSpec;
use std::path::{Path, PathBuf};

#[test]
fn preloaded_files_are_listed_without_comments() {
    let text = "/a.so\t/b.so # /c.so\n#/d.so\n /e.so:/f.so\n";
    assert_eq!(preloads(text), ["/a.so", "/b.so", "/e.so", "/f.so"]);
}

#[test]
fn absolute_directories_are_below_the_root() {
    let loader = Loader::parse(b"", Path::new(""), "aarch64");
    let system = System::at(Some(Path::new("/image")), "aarch64", loader);
    let path = SearchPath {
        system: system.clone(),
        ..SearchPath::default()
    };
    let runpath = Some("$ORIGIN/lib:relative::/opt/$LIB".into());
    let places = path.of_opener(runpath, None, Path::new("/image/app"), "");
    let places = places.directories;
    let shown: Vec<String> = places
        .iter()
        .map(|place| place.origin.to_string())
        .collect();
    let dirs: Vec<&Path> = places.iter().map(|place| &*place.dir).collect();
    assert_eq!(
        dirs,
        [
            Path::new("/image/app/lib"),
            Path::new("/image/opt/lib/aarch64-linux-gnu"),
            Path::new("/image/opt/lib64"),
            Path::new("/image/opt/lib"),
        ]
    );
    assert_eq!(
        shown[1],
        "the program's RUNPATH, its entry `/opt/lib/aarch64-linux-gnu`"
    );
    assert!(
        system
            .directories()
            .iter()
            .any(|place| place.dir == Path::new("/image/usr/lib/aarch64-linux-gnu"))
    );
}

fn system(known: Option<&[&'static str]>) -> System {
    System {
        levels: Some(hwcaps_order(known)),
        ..System::default()
    }
}

fn paths(files: &[&str]) -> Vec<PathBuf> {
    files.iter().map(PathBuf::from).collect()
}

#[test]
fn a_loader_contains_its_directories() {
    let debian = b"\x01/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0\0";
    let debian = Loader::parse(debian, Path::new("/l"), "x86_64");
    assert_eq!(
        debian.dirs,
        [
            "/lib/x86_64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu",
            "/lib",
            "/usr/lib"
        ]
    );
    assert_eq!(debian.lib, ["lib/x86_64-linux-gnu"]);
    let fedora = Loader::parse(b"\0/lib64/\0/usr/lib64/\0\0", Path::new("/l"), "x86_64");
    assert_eq!(fedora.dirs, ["/lib64", "/usr/lib64"]);
    assert_eq!(fedora.lib, ["lib64"]);
    let plain = Loader::parse(b"\0/lib/\0/usr/lib/\0\0", Path::new("/l"), "aarch64");
    assert_eq!(plain.dirs, ["/lib", "/usr/lib"]);
    let unknown = Loader::parse(b"\0/nix/store/x-glibc/lib/\0", Path::new("/l"), "aarch64");
    assert_eq!(unknown.lib, ["lib/aarch64-linux-gnu", "lib64", "lib"]);
    assert_eq!(unknown.dirs.len(), 6);
    // Nix's loader neither reads the distribution's cache nor searches the system's directories.
    let cache = "/nix/store/x-glibc/etc/ld.so.cache";
    let bytes = format!("\0/etc/x\0{cache}\0/nix/store/x-glibc/lib/\0");
    let path = Path::new("/nix/store/x-glibc/lib/ld-linux-x86-64.so.2");
    let nix = Loader::parse(bytes.as_bytes(), path, "x86_64");
    assert_eq!(nix.dirs, ["/nix/store/x-glibc/lib"]);
    assert_eq!(nix.own_cache.as_deref(), Some(Path::new(cache)));
    assert_eq!(
        System::at(None, "x86_64", nix.clone()).cache_path(),
        Path::new(cache)
    );
    // The configuration of the distribution does not apply to it, but in an image without a cache to other loaders.
    let image = Some(Path::new("/no-such-image"));
    assert_eq!(System::at(image, "x86_64", nix).configured, None);
    let other = System::at(image, "x86_64", Loader::default());
    assert_eq!(other.configured, Some(Vec::new()));
}

/// The loader expands `$ORIGIN` for a privileged program only at the beginning of an entry.
#[test]
fn a_privileged_program_ignores_origin_elsewhere_in_an_entry() {
    let system = System {
        is_privileged: true,
        cpu: "x86_64".into(),
        ..System::default()
    };
    let of_library = |dir| LoadOrigin::Runpath(dir, Some("libx.so".into()));
    let dirs = |entry: &str| {
        let places = system.listed(entry.as_bytes(), b":", Path::new("/opt/lib"), &of_library);
        places.into_iter().map(|place| place.dir).collect()
    };
    let dirs: Vec<Vec<PathBuf>> = ["$ORIGIN/x", "/opt/cu/$ORIGIN"].map(dirs).into();
    assert_eq!(dirs, [paths(&["/opt/lib/x"]), Vec::new()]);
}

#[test]
fn a_name_in_utf_16_is_found_in_a_program_for_windows() {
    let file = std::env::temp_dir().join(format!("wide-{}.exe", std::process::id()));
    let name = "ORT_DYLIB_PATH";
    let wide: String = name.chars().flat_map(|letter| [letter, '\0']).collect();
    for (text, is_found) in [(name, true), (&*wide, true), ("ORT_DYLIB", false)] {
        let dll = DllSpec::from_lines(&format!("text {text}"), "x86_64");
        std::fs::write(&file, dll).unwrap();
        assert_eq!(linkage::mentions(&file, name), is_found, "{text:?}");
    }
    std::fs::remove_file(file).unwrap();
}

/// `ldconfig` creates a removed link again.
#[test]
fn a_library_in_the_cache_is_removed_so_that_ldconfig_does_not_restore_it() {
    let (compat, conf) = (
        "/usr/local/cuda/compat",
        "/etc/ld.so.conf.d/cuda-compat.conf",
    );
    let origin = LoadOrigin::Configured(compat.into(), conf.into());
    assert_eq!(
        origin.removal(&Path::new(compat).join("libcuda.so.1")),
        format!("remove `{compat}` from `{conf}` and run `sudo ldconfig`")
    );
    let help = |file| LoadOrigin::Cache.removal(Path::new(file));
    // The other libraries in the directory may be needed.
    assert_eq!(
        help("/usr/local/cuda/lib64/libcuda.so.1"),
        "remove all `libcuda.so*` files from `/usr/local/cuda/lib64` and run `sudo ldconfig`"
    );
    // The driver may be beside a link without a number, which `ldconfig` does not create.
    assert_eq!(
        help("/usr/lib/nvidia/libcuda.so"),
        "remove `/usr/lib/nvidia/libcuda.so` and run `sudo ldconfig`"
    );
}

#[test]
fn subdirectories_for_more_capable_cpus() {
    let known: &[&str] = &["x86-64-v3", "x86-64-v2"];
    let file = Path::new("/l/libx.so");
    assert_eq!(
        system(Some(known)).variants(file),
        paths(&[
            "/l/glibc-hwcaps/x86-64-v3/libx.so",
            "/l/glibc-hwcaps/x86-64-v2/libx.so",
            "/l/libx.so"
        ])
    );
    assert_eq!(system(Some(&[])).variants(file), paths(&["/l/libx.so"]));
    let unknown = system(None).variants(file);
    assert_eq!(unknown.first(), Some(&PathBuf::from("/l/libx.so")));
    assert_eq!(
        unknown.last(),
        Some(&PathBuf::from("/l/glibc-hwcaps/x86-64-v4/libx.so"))
    );
    let cached = paths(&[
        "/l/glibc-hwcaps/x86-64-v2/libx.so",
        "/l/glibc-hwcaps/x86-64-v4/libx.so",
        "/l/glibc-hwcaps/x86-64-v3/libx.so",
        "/l/libx.so",
        "/m/libx.so",
    ]);
    assert_eq!(
        system(Some(known)).preferred(cached.clone()),
        paths(&[
            "/l/glibc-hwcaps/x86-64-v3/libx.so",
            "/l/glibc-hwcaps/x86-64-v2/libx.so",
            "/l/libx.so",
            "/m/libx.so"
        ])
    );
    let unknown = system(None).preferred(cached);
    assert_eq!(unknown.first(), Some(&PathBuf::from("/l/libx.so")));
    assert_eq!(unknown.len(), 5);
}
