//! A made-up registry, and locks that name its packages.

use super::*;
use std::ffi::OsString;
use std::fs;

const REFUSES: &str = "panic!(\"Unsupported cuda toolkit version: `{v}`.\")\n";

const UNPACKED: &str = "home/.cargo/registry/src/index-1";

/// A workspace and a registry in a directory of its own, which ends with this value.
struct World(PathBuf);

impl World {
    fn new(name: &str) -> Self {
        let name = format!("cudnn-guard-cudarc-{name}-{}", std::process::id());
        let world = Self(std::env::temp_dir().join(name));
        world.file("Cargo.toml", "name = \"app\"\n");
        for release in ["0.8.0", "0.9.1"] {
            let dir = format!("{UNPACKED}/candle-core-{release}");
            world.file(&format!("{dir}/Cargo.toml"), "name = \"candle-core\"\n");
        }
        world
    }

    fn file(&self, path: &str, text: &str) {
        let file = self.0.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Unpacks a cudarc with these features.
    fn cudarc(&self, release: &str, features: &[&str], build_script: &str) -> &Self {
        let features: String = features.iter().map(|one| format!("{one} = []\n")).collect();
        let manifest = format!("[features]\nstd = []\n{features}{BY_NVCC} = []\n\n[lib]\n");
        let dir = format!("{UNPACKED}/cudarc-{release}");
        self.file(&format!("{dir}/Cargo.toml"), &manifest);
        self.file(&format!("{dir}/build.rs"), build_script);
        self
    }

    fn env(&self, pairs: &[(&str, &Path)]) -> Environment {
        let home = [("HOME".to_string(), self.0.join("home").into_os_string())];
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.to_string(), OsString::from(value)));
        Environment::new(home.into_iter().chain(pairs)).with_current_dir(self.0.clone())
    }

    fn found(&self, lock: &str, toolkit: Version, driver: Option<Version>) -> Vec<String> {
        self.found_with(lock, toolkit, driver, &[])
    }

    fn found_with(
        &self,
        lock: &str,
        toolkit: Version,
        driver: Option<Version>,
        pairs: &[(&str, &Path)],
    ) -> Vec<String> {
        let found = too_old(lock, &self.env(pairs), toolkit, driver);
        let text = |one: &OldCudarc| {
            let text = one.finding().to_string();
            text.replace(self.0.to_str().unwrap(), "$DIR")
        };
        found.iter().map(text).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const fn cuda(major: u32, minor: u32) -> Version {
    Version::new(major, minor, 0)
}

fn package(name: &str, version: &str, source: &str, dependencies: &str) -> String {
    let dependencies = match dependencies {
        "" => String::new(),
        one => format!("dependencies = [\n \"half\",\n \"{one}\",\n]\n"),
    };
    format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}{dependencies}\n")
}

const REGISTRY: &str = "source = \"registry+https://example.org\"\n";

fn lock(release: &str) -> String {
    package("app", "0.1.0", "", "candle-core")
        + &package("candle-core", "0.9.1", REGISTRY, "cudarc")
        + &package("cudarc", release, REGISTRY, "")
}

#[test]
fn a_cudarc_that_does_not_know_the_toolkit() {
    let world = World::new("old");
    let build_script = format!("{REFUSES}\"{CHOICE}\"\n");
    world.cudarc(
        "0.16.6",
        &["cuda-11040", "cuda-12080", "cuda-12090"],
        &build_script,
    );
    let old = |helps: &str| {
        vec![format!(
            "cudarc 0.16.6 supports CUDA up to 12.9, and the toolkit here is CUDA 13.5  [unknown-newer-version]\n{helps}  \
             required by candle-core 0.9.1\n  \
             condition   the feature `cuda-version-from-build-system` is enabled\n  \
             sources     $DIR/home/.cargo/registry/src/index-1/cudarc-0.16.6"
        )]
    };
    let update = "  = help: or require a newer cudarc, or a newer version of what requires it\n";
    let choice = |number: u32| {
        format!(
            "  = help: set CUDARC_CUDA_VERSION={number} for the build\n  \
             = help: or enable the feature `cuda-{number}` of cudarc 0.16.6 in Cargo.toml\n"
        )
    };
    let found = |driver| world.found(&lock("0.16.6"), cuda(13, 5), driver);
    assert_eq!(found(None), old(&(choice(12090) + update)));
    // Never newer than the driver, like the feature that the report names.
    assert_eq!(found(Some(cuda(12, 8))), old(&(choice(12080) + update)));
    let alone = update.replace("or require", "require");
    assert_eq!(found(Some(cuda(11, 0))), old(&alone));
    // A newer one that supports the toolkit is named, and one that does not is not.
    world.cudarc("0.19.0", &["cuda-13010"], &build_script);
    world.cudarc("0.15.0", &["cuda-13050"], &build_script);
    assert_eq!(found(None), old(&(choice(12090) + update)));
    world.cudarc("0.19.20", &["cuda-13050"], &build_script);
    let newer = "  = help: or require cudarc 0.19.20, which supports this CUDA\n";
    assert_eq!(found(None), old(&(choice(12090) + newer)));
    // A version that reads no variable.
    world.cudarc("0.16.6", &["cuda-12090"], REFUSES);
    let feature = "  = help: enable the feature `cuda-12090` of cudarc 0.16.6 in Cargo.toml\n";
    assert_eq!(found(None), old(&format!("{feature}{newer}")));
    // CARGO_HOME replaces the home directory.
    let elsewhere = |dir: &str| {
        let dir = world.0.join(dir);
        let pairs: [(&str, &Path); 1] = [("CARGO_HOME", &dir)];
        world
            .found_with(&lock("0.16.6"), cuda(13, 5), None, &pairs)
            .len()
    };
    assert_eq!((elsewhere("home/.cargo"), elsewhere("other")), (1, 0));
}

#[test]
fn each_cudarc_of_a_lock_with_those_who_require_it() {
    let world = World::new("several");
    world.cudarc("0.13.9", &["cuda-12080"], REFUSES);
    world.cudarc("0.19.0", &["cuda-13010"], REFUSES);
    let lock = package("app", "0.1.0", "", "cudarc 0.19.0")
        + &package("candle-core", "0.8.0", REGISTRY, "cudarc 0.13.9")
        + &package("cudarc", "0.13.9", REGISTRY, "")
        + &package("cudarc", "0.19.0", REGISTRY, "");
    let too_old = |toolkit| {
        let found = too_old(&lock, &world.env(&[]), toolkit, None).into_iter();
        let found = found.map(|one| (one.release, one.required_by.join(", ")));
        found.collect::<Vec<_>>()
    };
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    let old = pair("0.13.9", "candle-core 0.8.0");
    assert_eq!(too_old(cuda(13, 1)), std::slice::from_ref(&old));
    assert_eq!(too_old(cuda(13, 2)), [old, pair("0.19.0", "app 0.1.0")]);
}

#[test]
fn what_is_right_or_unknown_is_silent() {
    let world = World::new("silent");
    world.cudarc("0.16.6", &["cuda-12080", "cuda-12090"], REFUSES);
    let count = |lock: &str, toolkit| world.found(lock, toolkit, None).len();
    let own = lock("0.16.6");
    assert_eq!(count(&own, cuda(13, 0)), 1);
    assert_eq!(count(&own, cuda(12, 9)), 0, "it knows the toolkit");
    assert_eq!(count(&own, cuda(12, 7)), 0, "the toolkit is older");
    assert_eq!(count("version = 4\n", cuda(13, 0)), 0, "no cudarc");
    assert_eq!(count(&lock("0.16.5"), cuda(13, 0)), 0, "no sources");
    assert_eq!(
        count(&lock("0.16.6/../cudarc-0.16.6"), cuda(13, 0)),
        0,
        "no path"
    );
    let unknown = own.replace("candle-core", "candle-nn");
    assert_eq!(count(&unknown, cuda(13, 0)), 0, "no manifest of candle-nn");
    let of_git = own.replace("registry+", "git+");
    assert_eq!(count(&of_git, cuda(13, 0)), 0, "from git");
    // A later version, of which no table knows.
    world.cudarc("9.9.9", &["cuda-12090", "cuda-99000"], REFUSES);
    assert_eq!(count(&lock("9.9.9"), cuda(98, 0)), 0);
    assert_eq!(count(&lock("9.9.9"), cuda(99, 1)), 1);
    world.cudarc("9.9.8", &["cuda-12090"], "fn main() {}\n");
    assert_eq!(count(&lock("9.9.8"), cuda(98, 0)), 0, "it refuses nothing");
    let manifest = "home/.cargo/registry/src/index-1/cudarc-9.9.7/Cargo.toml";
    world.cudarc("9.9.7", &[], REFUSES);
    world.file(manifest, "[features]\ncuda-12090 = []\n");
    assert_eq!(count(&lock("9.9.7"), cuda(98, 0)), 0, "it runs no nvcc");
}

#[test]
fn a_version_that_is_chosen_is_silent() {
    let world = World::new("chosen");
    world.cudarc("0.16.6", &["cuda-12090"], REFUSES);
    let choice: [(&str, &Path); 1] = [(CHOICE, Path::new("12090"))];
    let transitive = lock("0.16.6");
    let found = |lock: &str, pairs| world.found_with(lock, cuda(13, 5), None, pairs).len();
    assert_eq!(found(&transitive, &choice), 1, "it reads no variable");
    world.cudarc("0.16.6", &["cuda-12090"], &format!("{REFUSES}{CHOICE}"));
    assert_eq!(found(&transitive, &choice), 0);
    // By the manifest of a crate that requires it, here or in the registry.
    let chosen = "cudarc = { version = \"0.16\", features = [\"cuda-12090\"] }\n";
    let direct = package("app", "0.1.0", "", "cudarc") + &transitive;
    for (manifest, lock) in [
        ("Cargo.toml", &direct),
        ("app/Cargo.toml", &direct),
        ("crates/app/Cargo.toml", &direct),
        (
            "home/.cargo/registry/src/index-1/candle-core-0.9.1/Cargo.toml",
            &transitive,
        ),
    ] {
        let names = "name = \"app\"\nname = \"candle-core\"\n";
        let by_nvcc = "cudarc = { features = [\"cuda-version-from-build-system\"] }\n";
        world.file(manifest, &format!("{names}{by_nvcc}"));
        assert_eq!(found(lock, &[]), 1, "{manifest}");
        world.file(manifest, &format!("{names}{chosen}"));
        assert_eq!(found(lock, &[]), 0, "{manifest}");
        world.file(manifest, names);
    }
}
