//! A made-up registry with one cudarc, a crate that requires it, and a cuDNN.

use super::*;
use std::ffi::OsString;
use std::fs;

/// A later version than any that exists: no table knows it.
const RELEASE: &str = "9.9.9";

const LISTS: &str = "panic!(\"Unsupported cuDNN version {major}.{minor}\")\n";

/// The form of cudarc's list, with names of a made-up cuDNN.
const NAMES: &str = "pub fn get_lib_name_candidates(lib_name: &str) -> Vec<String> {\n    [\n        \
    std::format!(\"{DLL_PREFIX}{lib_name}{DLL_SUFFIX}\"),\n        \
    std::format!(\"{DLL_PREFIX}{lib_name}{pointer_width}_{major}{DLL_SUFFIX}\"),\n        \
    std::format!(\"{DLL_PREFIX}{lib_name}{pointer_width}_9{DLL_SUFFIX}\"),\n        \
    std::format!(\"{DLL_PREFIX}{lib_name}{DLL_SUFFIX}.1\"),\n    ]\n    .into()\n}\n\
    std::format!(\"{DLL_PREFIX}{lib_name}{DLL_SUFFIX}.9\")\n";

struct World {
    dir: PathBuf,
    cudnn: Cudnn,
}

impl World {
    fn new(name: &str) -> Self {
        let name = format!("cudnn-guard-cudarc-cudnn-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let world = Self {
            cudnn: Cudnn {
                library: Some(dir.join("lib/libcudnn.so.9")),
                header_version: Some(Version::new(9, 14, 0)),
                ..Cudnn::default()
            },
            dir,
        };
        let features = "[features]\ncudnn-08009 = []\ncudnn-09010 = []\ncudnn-09021 = []\n";
        world.sources("Cargo.toml", features);
        world.sources("build.rs", LISTS);
        world.sources("src/lib.rs", NAMES);
        world.file("lib/libcudnn.so.9", "");
        world.requires("cudarc = { version = \"9\", features = [\"cudnn\"] }");
        world
    }

    fn file(&self, path: &str, text: &str) {
        let file = self.dir.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn sources(&self, path: &str, text: &str) {
        let dir = format!("home/.cargo/registry/src/index-1/cudarc-{RELEASE}");
        self.file(&format!("{dir}/{path}"), text);
    }

    fn requires(&self, dependency: &str) {
        let text = format!("[package]\nname = \"app\"\n[dependencies]\n{dependency}\n");
        self.file("Cargo.toml", &text);
    }

    fn found_on(&self, os: Os) -> String {
        let home = self.dir.join("home").into_os_string();
        let env = Environment::new([("HOME".to_string(), home)] as [(String, OsString); 1])
            .with_current_dir(self.dir.clone());
        let lock = format!(
            "[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"cudarc\",\n]\n\n\
             [[package]]\nname = \"cudarc\"\nversion = \"{RELEASE}\"\nsource = \"registry+https://example.org\"\n"
        );
        let found = refusals(&lock, &env, &self.cudnn, os);
        let texts = found.iter().map(|one| one.finding().to_string());
        let text = texts.collect::<Vec<_>>().join("\n");
        text.replace(self.dir.to_str().unwrap(), "$DIR")
    }

    fn found(&self) -> String {
        self.found_on(Os::Linux)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

const REQUIRED: &str = "required by app 0.1.0\n  \
    sources     $DIR/home/.cargo/registry/src/index-1/cudarc-9.9.9";

#[test]
fn a_cudarc_without_bindings_for_the_headers() {
    let mut world = World::new("listed");
    let by_header = "cudarc = { features = [\"cudnn-version-from-build-system\"] }";
    world.requires(by_header);
    let refused = |helps: &str| {
        format!(
            "cudarc 9.9.9 has no bindings for cuDNN 9.14, the version of the headers here  [cudnn-requirement-unmet]\n\
             {helps}  bindings    for cuDNN 8.9, 9.10, 9.21\n  {REQUIRED}"
        )
    };
    let replace = "  = help: replace the feature `cudnn-version-from-build-system` of cudarc with \
        `cudnn-09010` in Cargo.toml\n";
    assert_eq!(world.found(), refused(replace));
    // With a feature that accepts any version.
    let features = "[features]\ncudnn-08009 = []\ncudnn-09010 = []\ncudnn-09021 = []\n";
    world.sources("Cargo.toml", &format!("{features}fallback-latest = []\n"));
    let any = "  = help: or enable the feature `fallback-latest` of cudarc 9.9.9\n";
    assert_eq!(world.found(), refused(&format!("{replace}{any}")));
    world.requires(&by_header.replace(']', ", \"fallback-latest\"]"));
    assert_eq!(world.found(), "");
    world.requires(by_header);
    // A version that is listed, in any patch.
    world.cudnn.header_version = Some(Version::new(9, 21, 3));
    assert_eq!(world.found(), "");
    world.cudnn.header_version = None;
    assert_eq!(world.found(), "");
    world.cudnn.header_version = Some(Version::new(9, 22, 0));
    assert!(world.found().contains("with `cudnn-09021`"));
    // A cudarc with no list, and one that refuses nothing.
    world.sources("build.rs", "fn main() {}\n");
    assert_eq!(world.found(), "");
    world.sources("build.rs", LISTS);
    world.sources("Cargo.toml", "[features]\nstd = []\n");
    assert_eq!(world.found(), "");
}

#[cfg(unix)]
#[test]
fn a_cudarc_that_does_not_open_the_name_of_a_wheel() {
    let world = World::new("names");
    let unopened = "cudarc 9.9.9 does not open `libcudnn.so.9`, the only name of cuDNN in its directory  [cudnn-not-loadable]\n  \
        = help: run `ln -s libcudnn.so.9 $DIR/lib/libcudnn.so`\n  \
        = help: or require cudarc 0.19.2 or later, which opens `libcudnn.so.9`\n  \
        opened      libcudnn.so\n  library     $DIR/lib/libcudnn.so.9\n  ";
    assert_eq!(world.found(), format!("{unopened}{REQUIRED}"));
    // The link that the help creates.
    std::os::unix::fs::symlink("libcudnn.so.9", world.dir.join("lib/libcudnn.so")).unwrap();
    assert_eq!(world.found(), "");
    fs::remove_file(world.dir.join("lib/libcudnn.so")).unwrap();
    // A cudarc that opens this name.
    let newer = NAMES.replace("SUFFIX}.1", "SUFFIX}.9");
    world.sources("src/lib.rs", &newer);
    assert_eq!(world.found(), "");
    // A list in another form.
    world.sources("src/lib.rs", &NAMES.replace("{DLL_PREFIX}", "{PREFIX}"));
    assert_eq!(world.found(), "");
    world.sources("src/lib.rs", NAMES);
    assert_ne!(world.found(), "");
    // A program that is linked, and one without cuDNN.
    for feature in ["dynamic-linking", "static-linking"] {
        world.requires(&format!(
            "cudarc = {{ features = [\"cudnn\", \"{feature}\"] }}"
        ));
        assert_eq!(world.found(), "", "{feature}");
    }
    world.requires("cudarc = \"9\"");
    assert_eq!(world.found(), "");
}

#[test]
fn a_cudarc_opens_cudnn_64_9_on_windows() {
    let mut world = World::new("windows");
    world.cudnn.library = Some(world.dir.join("lib/cudnn64_9.dll"));
    assert_ne!(world.found_on(Os::Windows), "");
    world.file("lib/cudnn64_9.dll", "");
    assert_eq!(world.found_on(Os::Windows), "");
}
