//! The cuDNN of the headers, and the names by which libraries are opened.

use super::*;

/// A version that does not exist and that no table contains.
const RELEASE: &str = "9.9.9";

const LISTS: &str = "        #[cfg(not(feature = \"fallback-latest\"))]\n        \
    panic!(\"Unsupported cuDNN version {major}.{minor})\");\n";

/// A list in cudarc's form, with the names of a made-up cuDNN.
const NAMES: &str = "pub fn get_lib_name_candidates(lib_name: &str) -> Vec<String> {\n    [\n        \
    std::format!(\"{DLL_PREFIX}{lib_name}{DLL_SUFFIX}\"),\n        \
    std::format!(\"{DLL_PREFIX}{lib_name}{pointer_width}_{major}{DLL_SUFFIX}\"),\n        \
    std::format!(\"{DLL_PREFIX}{lib_name}{pointer_width}_9{DLL_SUFFIX}\"),\n        \
    std::format!(\"{DLL_PREFIX}{lib_name}{DLL_SUFFIX}.{major}\"),\n        \
    std::format!(\"{DLL_PREFIX}{lib_name}{DLL_SUFFIX}.1\"),\n    ]\n    .into()\n}\n\
    std::format!(\"{DLL_PREFIX}{lib_name}{DLL_SUFFIX}.9\")\n";

const FEATURES: [&str; 11] = [
    "cudnn",
    "cudnn-08009",
    "cudnn-09010",
    "cudnn-09021",
    "cuda-12090",
    "cuda-13000",
    "cuda-13050",
    "curand",
    "driver",
    "nvrtc",
    "std",
];

impl World {
    /// Creates a cuDNN from a wheel, and a cudarc that opens libraries.
    fn with_libraries(name: &str) -> Self {
        let mut world = Self::new(name);
        world.cudarc(RELEASE, &FEATURES, LISTS);
        for (module, library) in [("cudnn", "cudnn"), ("nvrtc", "nvrtc"), ("curand", "curand")] {
            let text = format!(
                "let lib_names = [\"{library}\"];\nlet lib_names = std::vec![\"{library}\"];\n"
            );
            world.sources(&format!("src/{module}/sys/mod.rs"), &text);
        }
        let driver = "    let lib_names = std::vec![\"cuda\", \"nvcuda\"];\n";
        world.sources("src/driver/sys/mod.rs", driver);
        world.file("lib/libcudnn.so.9", "");
        world.cudnn = Cudnn {
            library: Some(world.dir.join("lib/libcudnn.so.9")),
            header_version: Some(Version::new(9, 14, 0)),
            ..Cudnn::default()
        };
        world.features = vec!["cudnn"];
        world
    }

    fn sources(&self, path: &str, text: &str) {
        self.file(&format!("{UNPACKED}/cudarc-{RELEASE}/{path}"), text);
    }

    fn text(&self) -> String {
        self.found_with(&lock(RELEASE), &[]).join("\n")
    }
}

#[test]
fn a_cudarc_without_bindings_for_the_headers() {
    let mut world = World::with_libraries("listed");
    world.features = vec![BY_HEADER];
    let refused = |helps: &str| {
        format!(
            "cudarc 9.9.9 has no bindings for cuDNN 9.14, the version of the installed headers  [cudnn-requirement-unmet]\n\
             {helps}  bindings    for cuDNN 8.9, 9.10, 9.21\n  {}",
            required(RELEASE)
        )
    };
    let replace = "  = help: replace the feature `cudnn-version-from-build-system` of cudarc with \
        `cudnn-09010` in Cargo.toml\n";
    let any = "  = help: enable the feature `fallback-latest` of cudarc 9.9.9\n";
    let newer =
        "  = help: require a newer cudarc, or a newer version of the crate that requires it\n";
    assert_eq!(world.text(), refused(&format!("{replace}{any}{newer}")));
    world.features.push(ANY);
    assert_eq!(world.text(), "");
    world.features.pop();
    // A cudarc without a feature that accepts any version.
    let alone = LISTS.replace("#[cfg", "//");
    let alone = alone.replace(ANY, "");
    world.cudarc(RELEASE, &FEATURES, &alone);
    assert_eq!(world.text(), refused(&format!("{replace}{newer}")));
    // A listed version, with any patch number.
    world.cudnn.header_version = Some(Version::new(9, 21, 3));
    assert_eq!(world.text(), "");
    world.cudnn.header_version = None;
    assert_eq!(world.text(), "");
    world.cudnn.header_version = Some(Version::new(9, 22, 0));
    assert!(world.text().contains("with `cudnn-09021`"));
    // Later versions of both.
    world.cudnn.header_version = Some(Version::new(10, 1, 0));
    world.cudarc(RELEASE, &["cudnn-09021", "cudnn-10000"], LISTS);
    assert!(world.text().contains("with `cudnn-10000`"));
    world.cudarc(RELEASE, &["cudnn-09021", "cudnn-10001"], LISTS);
    assert_eq!(world.text(), "");
    world.cudnn.header_version = Some(Version::new(9, 22, 0));
    assert_ne!(world.text(), "");
    // A build that does not read the headers, a cudarc without a list, and one that rejects nothing.
    world.features = vec!["cudnn-09021"];
    assert_eq!(world.text(), "");
    world.features = vec![BY_HEADER];
    world.cudarc(RELEASE, &FEATURES, "fn main() {}\n");
    assert_eq!(world.text(), "");
    world.cudarc(RELEASE, &["std"], LISTS);
    assert_eq!(world.text(), "");
}

#[cfg(unix)]
#[test]
fn a_cudarc_that_does_not_open_the_name_of_a_wheel() {
    let mut world = World::with_libraries("names");
    world.sources("src/lib.rs", NAMES);
    let unopened = "cudarc 9.9.9 does not open `libcudnn.so.9`, and the library has no other name in its directory  [cudnn-not-loadable]\n  \
        = help: run `ln -s libcudnn.so.9 $DIR/lib/libcudnn.so`\n  \
        = help: require cudarc 0.19.2 or later, which opens `libcudnn.so.9`\n  \
        opened      libcudnn.so, libcudnn.so.1\n  library     $DIR/lib/libcudnn.so.9\n  ";
    let unopened = format!("{unopened}{}", required(RELEASE));
    assert_eq!(world.text(), unopened);
    // The link that the help creates.
    std::os::unix::fs::symlink("libcudnn.so.9", world.dir.join("lib/libcudnn.so")).unwrap();
    assert_eq!(world.text(), "");
    fs::remove_file(world.dir.join("lib/libcudnn.so")).unwrap();
    // A link that the loader finds elsewhere.
    world.file("system/libcudnn.so", "");
    world.searched = vec!["system"];
    assert_eq!(world.text(), "");
    world.searched.clear();
    // A cudarc that opens this name, and a later cuDNN.
    let newer = NAMES.replace("SUFFIX}.1", "SUFFIX}.9");
    world.sources("src/lib.rs", &newer);
    assert_eq!(world.text(), "");
    world.cudnn.library = Some(world.dir.join("later/libcudnn.so.10"));
    world.file("later/libcudnn.so.10", "");
    let later = world.text();
    assert!(later.contains("does not open `libcudnn.so.10`"), "{later}");
    assert!(!later.contains("or require"), "{later}");
    world.sources("src/lib.rs", &newer.replace("SUFFIX}.9", "SUFFIX}.10"));
    assert_eq!(world.text(), "");
    world.cudnn.library = Some(world.dir.join("lib/libcudnn.so.9"));
    // A list in another form.
    world.sources("src/lib.rs", &NAMES.replace("{DLL_PREFIX}", "{PREFIX}"));
    assert_eq!(world.text(), "");
    world.sources("src/lib.rs", NAMES);
    // The feature for one version of cuDNN.
    world.features = vec!["cudnn-09010"];
    assert_eq!(world.text(), unopened);
    // A linked program, and one without cuDNN.
    for features in [
        &["cudnn", "dynamic-linking"][..],
        &["cudnn", "static-linking"],
        &["std"],
    ] {
        world.features = features.into();
        assert_eq!(world.text(), "", "{features:?}");
    }
}

#[test]
fn a_cudarc_opens_cudnn_64_9_on_windows() {
    let mut world = World::with_libraries("windows");
    world.sources("src/lib.rs", NAMES);
    world.os = Os::Windows;
    world.cudnn.library = Some(world.dir.join("lib/cudnn64_8.dll"));
    world.file("lib/cudnn64_8.dll", "");
    assert_ne!(world.text(), "");
    world.cudnn.library = Some(world.dir.join("lib/cudnn64_9.dll"));
    world.file("lib/cudnn64_9.dll", "");
    assert_eq!(world.text(), "");
}

/// The DLLs of CUDA are in other directories than the libraries for the linker.
#[test]
fn a_cudarc_opens_dlls_of_cuda_in_the_directories_of_programs() {
    let mut world = World::with_libraries("dlls");
    let old = NAMES
        .replace("{DLL_PREFIX}", "")
        .replace("{DLL_SUFFIX}", "");
    world.sources("src/lib.rs", &old);
    world.os = Os::Windows;
    world.features = vec!["nvrtc", "cuda-12090"];
    world.toolkit.version = Some(Version::new(12, 9, 0));
    world.toolkit.root = world.dir.join("toolkit");
    world.toolkit.link_dirs = vec![world.dir.join("toolkit/lib/x64")];
    world.file("toolkit/lib/x64/nvrtc.lib", "");
    assert_eq!(world.text(), "", "no such DLL");
    for dir in ["toolkit/bin", "toolkit/bin/x64"] {
        world.file(&format!("{dir}/nvrtc64_120_0.alt.dll"), "");
        world.file(&format!("{dir}/nvrtc64_120_0.dll"), "");
        let text = world.text();
        let expected = format!(
            "cudarc 9.9.9 does not open `nvrtc64_120_0.dll`, and the library has no other name in its directory  [library-not-found]\n  \
             = help: require a newer cudarc, or a newer version of the crate that requires it\n  \
             = help: copy `$DIR/{dir}/nvrtc64_120_0.dll` to `$DIR/{dir}/nvrtc.dll`\n  "
        );
        assert!(text.starts_with(&expected), "{text}");
        // A cudarc that opens the name, and the copy.
        world.sources("src/lib.rs", &old.replace("_9\"", "_{major}0_0\""));
        assert_eq!(world.text(), "");
        world.sources("src/lib.rs", &old);
        world.file(&format!("{dir}/nvrtc.dll"), "");
        assert_eq!(world.text(), "");
        fs::remove_file(world.dir.join(dir).join("nvrtc.dll")).unwrap();
    }
}

/// The names of CUDA's libraries contain the number of the CUDA version that cudarc is compiled for.
#[cfg(unix)]
#[test]
fn the_libraries_of_another_cuda() {
    let mut world = World::with_libraries("cuda");
    world.sources("src/lib.rs", NAMES);
    world.features = vec!["nvrtc", "cuda-12090"];
    world.toolkit.version = Some(Version::new(13, 1, 0));
    world.toolkit.link_dirs = vec![world.dir.join("none"), world.dir.join("toolkit")];
    assert_eq!(world.text(), "", "no such library");
    world.file("toolkit/libnvrtc.so.13", "");
    let unopened = |helps: &str, names: &str| {
        format!(
            "cudarc 9.9.9 does not open `libnvrtc.so.13`, and the library has no other name in its directory  \
             [library-not-found]\n{helps}  opened      {names}\n  library     $DIR/toolkit/libnvrtc.so.13\n  {}",
            required(RELEASE)
        )
    };
    let names = "libnvrtc.so, libnvrtc.so.12, libnvrtc.so.1";
    let newest = "  = help: replace `cuda-12090` with `cuda-13000` for cudarc 9.9.9\n";
    let newer =
        "  = help: require a newer cudarc, or a newer version of the crate that requires it\n";
    assert_eq!(world.text(), unopened(&format!("{newest}{newer}"), names));
    // `fetch` can install the CUDA that cudarc is compiled for.
    world.file("home/.cudnn-guard", "");
    world.toolkit.root = world.dir.join("home/nvidia/cu13");
    let fetch = "  = help: run `cudnn-guard fetch --cuda 12.9 --to $DIR/home`\n";
    let helps = format!("{fetch}{newest}{newer}");
    assert_eq!(world.text(), unopened(&helps, names));
    world.toolkit.root = PathBuf::new();
    // The suggested version is never newer than the toolkit or the driver.
    world.toolkit.version = Some(Version::new(13, 6, 0));
    assert!(world.text().contains("`cuda-13050`"));
    world.driver = Some(Version::new(13, 4, 0));
    assert!(world.text().contains("`cuda-13000`"));
    world.driver = Some(Version::new(12, 9, 0));
    assert_eq!(world.text(), unopened(newer, names));
    world.driver = None;
    // The version is chosen by the variable, which takes precedence.
    world.cudarc(RELEASE, &FEATURES, &format!("{LISTS}{CHOICE}"));
    let variable: [(&str, &Path); 1] = [(CHOICE, Path::new("12080"))];
    let text = world.found_with(&lock(RELEASE), &variable).concat();
    let replace = "replace `CUDARC_CUDA_VERSION=12080` with `CUDARC_CUDA_VERSION=13050`";
    assert!(text.contains(replace), "{text}");
    let variable: [(&str, &Path); 1] = [(CHOICE, Path::new("13000"))];
    assert_eq!(world.found_with(&lock(RELEASE), &variable), [""; 0]);
    // The link is for a program that needs the name without a number.
    world.file("toolkit/libnvrtc.so", "");
    assert_eq!(world.text(), "");
    fs::remove_file(world.dir.join("toolkit/libnvrtc.so")).unwrap();
    // A cudarc that is compiled for this CUDA, by its feature or by nvcc.
    for features in [
        &["nvrtc", "cuda-13000"][..],
        &["nvrtc"],
        &["driver", "nvrtc", "cuda-13000"],
    ] {
        world.features = features.into();
        assert_eq!(world.text(), "", "{features:?}");
    }
    // It is unknown which of the default features are used.
    world.file("toolkit/libcurand.so.10", "");
    world.features = vec!["cuda-13000", "curand"];
    let link = world.text();
    assert!(
        link.contains("run `ln -s libcurand.so.10 $DIR/toolkit/libcurand.so`"),
        "{link}"
    );
    world.features.push("default");
    assert_eq!(world.text(), "");
    // The number of this library is not the CUDA version.
    world.file("toolkit/libnvrtc.so.12", "");
    fs::remove_file(world.dir.join("toolkit/libnvrtc.so.13")).unwrap();
    world.features = vec!["cuda-13000", "nvrtc"];
    let update = "= help: require cudarc 0.19.2 or later, which opens `libnvrtc.so.12`";
    assert!(world.text().contains(update), "{}", world.text());
}

/// cudarc before 0.13.1 opens `libcuda.so`, which is not in every package of the driver.
#[cfg(unix)]
#[test]
fn the_name_of_the_driver() {
    let mut world = World::with_libraries("driver");
    world.features = vec!["default", "driver"];
    world.sources("src/lib.rs", &NAMES.replace("SUFFIX}.1", "SUFFIX}.10"));
    world.file("system/libcuda.so.1", "");
    assert_eq!(world.text(), "", "no driver");
    world.searched = vec!["system"];
    let unopened = world.text();
    let link =
        "run `ln -s libcuda.so.1 $DIR/system/libcuda.so`\n  opened      libcuda.so, libcuda.so.10";
    assert!(unopened.contains(link), "{unopened}");
    world.sources("src/lib.rs", NAMES);
    assert_eq!(world.text(), "");
}
