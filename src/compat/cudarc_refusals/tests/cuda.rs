//! A build script that gets the CUDA version from nvcc.

use super::*;

const fn cuda(major: u32, minor: u32) -> Version {
    Version::new(major, minor, 0)
}

impl World {
    fn found(&mut self, lock: &str, toolkit: Version, driver: Option<Version>) -> Vec<String> {
        self.toolkit.version = Some(toolkit);
        self.driver = driver;
        self.found_with(lock, &[])
    }
}

#[test]
fn a_cudarc_without_bindings_for_the_toolkit() {
    let mut world = World::new("old");
    let build_script = format!("\"{CHOICE}\"\n{REFUSES}");
    let features = ["cuda-11040", "cuda-12080", "cuda-12090"];
    world.cudarc("0.16.6", &features, &build_script);
    let required = required("0.16.6");
    let old = |helps: &str, listed: &str| {
        vec![format!(
            "cudarc 0.16.6 has no bindings for CUDA 13.5, the version of the installed toolkit  [unknown-newer-version]\n\
             {helps}  bindings    for CUDA {listed}\n  {required}"
        )]
    };
    let all = "11.4, 12.8, 12.9";
    let newer =
        "  = help: require a newer cudarc, or a newer version of the crate that requires it\n";
    let choice = |number: u32| {
        format!(
            "  = help: set CUDARC_CUDA_VERSION={number} for the build\n  \
             = help: enable the feature `cuda-{number}` of cudarc 0.16.6 in Cargo.toml\n"
        )
    };
    let found = |world: &mut World, driver| world.found(&lock("0.16.6"), cuda(13, 5), driver);
    assert_eq!(found(&mut world, None), old(&(choice(12090) + newer), all));
    // The suggested version is never newer than the driver, like the feature that the report names.
    let driver = Some(cuda(12, 8));
    assert_eq!(
        found(&mut world, driver),
        old(&(choice(12080) + newer), all)
    );
    assert_eq!(found(&mut world, Some(cuda(11, 0))), old(newer, all));
    // `fetch` can install an older CUDA, but its nvcc only since CUDA 13.
    world.file("home/.cudnn-guard", "");
    world.toolkit.root = world.dir.join("home/nvidia/cu13");
    assert_eq!(found(&mut world, None), old(&(choice(12090) + newer), all));
    world.cudarc("0.16.6", &["cuda-12090", "cuda-13000"], &build_script);
    let fetch = "  = help: run `cudnn-guard fetch --cuda 13.0 --to $DIR/home`\n";
    let helps = format!("{fetch}{}{newer}", choice(13000));
    assert_eq!(found(&mut world, None), old(&helps, "12.9, 13.0"));
    world.cudarc("0.16.6", &features, &build_script);
    world.toolkit.root = PathBuf::new();
    // Only the cudarc of the lock file counts.
    world.cudarc("0.19.20", &["cuda-13050"], &build_script);
    assert_eq!(found(&mut world, None), old(&(choice(12090) + newer), all));
    // A cudarc that reads no variable.
    world.cudarc("0.16.6", &["cuda-12090"], REFUSES);
    let feature = "  = help: enable the feature `cuda-12090` of cudarc 0.16.6 in Cargo.toml\n";
    assert_eq!(
        found(&mut world, None),
        old(&format!("{feature}{newer}"), "12.9")
    );
    // A build that contains cudarc only with a feature of the package.
    world.option = Some("--all-features");
    let condition = "12.9\n  condition   a build with `--all-features`";
    let expected = old(&format!("{feature}{newer}"), condition);
    assert_eq!(found(&mut world, None), expected);
    // CARGO_HOME replaces the home directory.
    let elsewhere = |dir: &str| {
        let dir = world.dir.join(dir);
        world
            .found_with(&lock("0.16.6"), &[("CARGO_HOME", &dir)])
            .len()
    };
    assert_eq!((elsewhere("home/.cargo"), elsewhere("other")), (1, 0));
}

#[test]
fn each_cudarc_of_a_lock() {
    let mut world = World::new("several");
    world.cudarc("0.13.9", &["cuda-12080"], REFUSES);
    world.cudarc("0.19.0", &["cuda-13010"], REFUSES);
    let lock = lock("0.13.9") + "\n" + &lock("0.19.0");
    assert_eq!(world.found(&lock, cuda(12, 8), None).len(), 0);
    let one = world.found(&lock, cuda(13, 1), None);
    assert!(one.len() == 1 && one[0].starts_with("cudarc 0.13.9 "));
    assert_eq!(world.found(&lock, cuda(13, 2), None).len(), 2);
}

#[test]
fn valid_and_unknown_setups_are_silent() {
    let mut world = World::new("silent");
    world.cudarc("0.16.6", &["cuda-12080", "cuda-12090"], REFUSES);
    let own = lock("0.16.6");
    let mut count = |lock: &str, toolkit| world.found(lock, toolkit, None).len();
    assert_eq!(count(&own, cuda(13, 0)), 1);
    assert_eq!(count(&own, cuda(12, 9)), 0, "it knows the toolkit");
    assert_eq!(count(&own, cuda(12, 7)), 0, "the toolkit is older");
    assert_eq!(count("version = 4\n", cuda(13, 0)), 0, "no cudarc");
    assert_eq!(count(&lock("0.16.5"), cuda(13, 0)), 0, "no sources");
    let path = lock("0.16.6/../cudarc-0.16.6");
    assert_eq!(count(&path, cuda(13, 0)), 0, "no path");
    let of_git = own.replace("registry+", "git+");
    assert_eq!(count(&of_git, cuda(13, 0)), 0, "from git");
    // A build that does not contain it, or that cargo cannot resolve.
    let env = Environment::default().with_current_dir(world.dir.clone());
    let home = Environment::new([("CARGO_HOME".to_string(), "home/.cargo".into())]);
    let home = home.with_current_dir(world.dir.clone());
    let resolved = || Resolved {
        features: Vec::new(),
        required_by: Vec::new(),
        option: None,
    };
    let count = |env| locked(&own, env, &|_| Some(resolved())).len();
    assert_eq!((count(&env), count(&home)), (0, 1));
    assert!(locked(&own, &home, &|_| None).is_empty());
}

/// cudarc runs the nvcc on PATH, which may not belong to the toolkit that a build script finds.
#[cfg(unix)]
#[test]
fn an_nvcc_of_another_toolkit_on_path() {
    let mut world = World::new("nvcc");
    world.cudarc("0.16.6", &["cuda-12090"], REFUSES);
    world.file("toolkit/bin/nvcc", "");
    world.file("other/bin/nvcc", "");
    std::os::unix::fs::symlink("toolkit", world.dir.join("link")).unwrap();
    world.toolkit.version = Some(cuda(13, 5));
    world.toolkit.nvcc = Some(world.dir.join("toolkit/bin/nvcc"));
    let found = |world: &World, dir: &str| {
        let path = world.dir.join(dir);
        world.found_with(&lock("0.16.6"), &[("PATH", &path)]).len()
    };
    for (dir, count) in [
        ("none", 1),
        ("toolkit/bin", 1),
        ("link/bin", 1),
        ("other/bin", 0),
    ] {
        assert_eq!(found(&world, dir), count, "{dir}");
    }
    world.toolkit.nvcc = None;
    assert_eq!((found(&world, "other/bin"), found(&world, "none")), (0, 1));
}

/// No table contains a later cudarc, so its own features and messages count.
#[test]
fn a_later_cudarc() {
    let mut world = World::new("later");
    let features = ["cuda-12090", "cuda-13050", "cuda-14010"];
    world.cudarc("0.99.0", &features, REFUSES);
    let own = lock("0.99.0");
    let count = |world: &mut World, toolkit| world.found(&own, toolkit, None).len();
    assert_eq!(count(&mut world, cuda(14, 0)), 0);
    assert_eq!(count(&mut world, cuda(14, 1)), 0);
    assert_eq!(count(&mut world, cuda(14, 2)), 1);
    // A cudarc that accepts any CUDA, as 0.19 accepts any cuDNN.
    let any = format!("#[cfg(not(feature = \"{ANY}\"))]\n{}", &REFUSES[6..]);
    world.cudarc("0.99.0", &features, &any);
    let found = world.found(&own, cuda(14, 2), None).concat();
    assert!(found.contains("enable the feature `fallback-latest` of cudarc 0.99.0"));
    world.features.push(ANY);
    assert_eq!(count(&mut world, cuda(14, 2)), 0);
    // The feature of 0.19 helps only if there is no nvcc.
    world.cudarc("0.99.0", &features, REFUSES);
    assert_eq!(count(&mut world, cuda(14, 2)), 1);
    world.cudarc("0.99.0", &features, "fn main() {}\n");
    assert_eq!(count(&mut world, cuda(14, 2)), 0, "it refuses nothing");
}

#[test]
fn a_version_that_is_chosen_is_silent() {
    let mut world = World::new("chosen");
    world.toolkit.version = Some(cuda(13, 5));
    world.cudarc("0.16.6", &["cuda-12090"], REFUSES);
    let choice: [(&str, &Path); 1] = [(CHOICE, Path::new("12090"))];
    let found = |world: &World, pairs| world.found_with(&lock("0.16.6"), pairs).len();
    assert_eq!(found(&world, &choice), 1, "it reads no variable");
    world.cudarc("0.16.6", &["cuda-12090"], &format!("{CHOICE}\n{REFUSES}"));
    assert_eq!(found(&world, &choice), 0);
    assert_eq!(found(&world, &[]), 1);
    world.features.push("cuda-12090");
    assert_eq!(found(&world, &[]), 0);
    world.features = vec!["driver"];
    assert_eq!(found(&world, &[]), 0, "it does not run nvcc");
}

/// The variable that the help suggests is already set.
#[test]
fn a_version_that_cargo_sets() {
    let mut world = World::new("configured");
    let build_script = format!("\"{CHOICE}\"\n{REFUSES}");
    world.cudarc("0.16.6", &["cuda-12090"], &build_script);
    let found = |world: &mut World| world.found(&lock("0.16.6"), cuda(13, 5), None).len();
    world.file(".cargo/config.toml", "[env]\nCUDA_HOME = \"/opt/cuda\"\n");
    assert_eq!(found(&mut world), 1);
    world.file(
        ".cargo/config.toml",
        "[env]\nCUDARC_CUDA_VERSION = \"12090\"\n",
    );
    assert_eq!(found(&mut world), 0);
}
