//! Writes the initial inputs for fuzzing. Run `seeds DIRECTORY` in the top directory of the repository. It creates
//! `corpus` and `large` in DIRECTORY, with a subdirectory for each target.
//!
//! The inputs are made from fixtures, output of the C compiler and system files. If CUDNN_GUARD_REAL names NVIDIA's files,
//! they include the first 64 KB of each library. The repository contains none of them.

#[path = "../tests/support/ld_so_cache.rs"]
mod ld_so_cache;
#[allow(dead_code)]
#[path = "../src/system/library_file/made_dll.rs"]
mod made_dll;

use ld_so_cache::cache_of;
use made_dll::DllSpec;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The size above which an input is run once, but not mutated, because that would take too much time.
const LARGE: usize = 1 << 17;
const BIG: usize = 1 << 20;
const CUT: usize = 64 << 10;
const BETWEEN: &[u8] = b"\n%%%%\n";

struct Corpus(PathBuf);

impl Corpus {
    fn add(&self, target: &str, name: &str, bytes: impl AsRef<[u8]>) {
        let kind = match bytes.as_ref().len() > LARGE {
            true => "large",
            false => "corpus",
        };
        let folder = self.0.join(kind).join(target);
        fs::create_dir_all(&folder).expect("cannot create a directory for seeds");
        fs::write(folder.join(name), bytes).expect("cannot write a seed");
    }

    /// Adds a text, and the text repeated up to 1 MB.
    fn text(&self, target: &str, name: &str, text: &str) {
        self.add(target, name, text);
        self.add(target, &format!("{name}-long"), repeated(text.as_bytes()));
    }
}

fn repeated(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().cycle().take(BIG).collect()
}

fn main() {
    let folder = env::args_os().nth(1).expect("usage: seeds DIRECTORY");
    let corpus = Corpus(PathBuf::from(folder));
    fixtures(&corpus);
    texts(&corpus);
    loader(&corpus);
    records(&corpus);
    fatbins(&corpus);
    windows(&corpus);
    linux(&corpus);
    if let Some(real) = env::var_os("CUDNN_GUARD_REAL") {
        nvidia(&corpus, Path::new(&real));
    }
}

fn fixtures(corpus: &Corpus) {
    for folder in [
        "fixtures/cases",
        "fixtures/nvcc",
        "build-support/compat",
    ] {
        files(corpus, Path::new(folder));
    }
    let lists = fs::read_to_string("fixtures/targets/lists.txt").expect("cannot read the lists");
    for (index, line) in lists
        .lines()
        .filter(|line| !line.starts_with('#'))
        .enumerate()
    {
        let list = line.split('|').nth(2).unwrap_or_default().trim();
        corpus.add("targets", &format!("list-{index}"), list);
    }
    for file in ["Cargo.lock", "Cargo.toml", ".cargo/config.toml"] {
        let text = fs::read_to_string(file).expect("cannot read a file of the repository");
        corpus.text("packages", &file.replace('/', "-"), &text);
    }
}

fn files(corpus: &Corpus, folder: &Path) {
    for entry in fs::read_dir(folder)
        .expect("run this in the top directory of the repository")
        .flatten()
    {
        if entry.path().is_dir() {
            files(corpus, &entry.path());
            continue;
        }
        let text = fs::read(entry.path()).expect("cannot read a fixture");
        let name = entry.path().to_string_lossy().replace('/', "-");
        for target in ["tools", "lines"] {
            corpus.add(target, &name, &text);
        }
    }
}

fn texts(corpus: &Corpus) {
    let outcome = "outcome NVIDIA\\sA100 graph forward f16 NHWC 7 pass 4607182418800017408 4607182418800017408 - - true -\n";
    let problem =
        "problem device-busy warning it\\sis\\sbusy mode EXCLUSIVE  share\\sit\nend 5eed\n";
    let driver = "stage x\nversion 9.14.0\ncudart 12\ndriver /lib/libcuda.so.1 535.1 12.4\ndevice A\\tB 8 0\ntried 0\nmap \0255,1,\nrefused /a words\n";
    let texts: [(&str, &[&str]); 6] = [
        (
            "tools",
            &[
                "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 14 /* x */\n#define CUDNN_PATCHLEVEL (0)\n",
                "/* a\n b */ # define \\\n CUDA_VERSION 12040 // x\n#include \"x86/cudnn_v9.h\"\n",
                "#$ _HERE_=/cuda/bin\n#$ TOP=/cuda/bin/..\n#$ INCLUDES=\"-I/a b\" -I/c \"-isystem\" \"/d\"\n#$ LIBRARIES=  \"-L/cuda/lib64/stubs\" \"-L/cuda/lib64\"\n#$ \"/usr/bin\"/g++-12 -E\n#$ PATH=/usr/bin:/bin\n",
                "sm_75\nsm_110\nsm_103a\n'sm_100a','sm_100f','sm_103',\n",
                "Cuda compilation tools, release 13.5, V13.5.37\nCUDA Version 10.2.89\n",
                "{\"cuda\" : {\"name\" : \"CUDA SDK\", \"version\" : \"12.4.1\"}}\n",
                "a.o : a.cu \\\n /usr/include/a\\ b.h \\\n $$x.h\\#\n",
                "# 1 \"/cuda/include/crt/host_config.h\" 1\ncudnn_guard_gcc 15 1 0\ncudnn_guard_clang __clang_major__\ncudnn_guard_glibc 2\n# 1\n 41\ncudnn_guard_end\n",
                "#$ gcc-12 -E\n#if defined(__clang__)\n#if __GNUC__ > 14\n#if (__clang_major__ >= 21)\n#if _MSC_VER < 1910 || _MSC_VER >= 1950\n",
                "0, GPU-0a, Tesla P40, 6.1\n1, GPU-1b, NVIDIA RTX A4000, 8.6\n",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12\n",
                "b.cu:1:10: fatal error: curand.h: No such file or directory\nsh: 1: ptxas: not found\n",
            ],
        ),
        (
            "targets",
            &[
                "80 8.6+PTX sm_90a compute_100f 8.6(8.0) native all-major Hopper+PTX RTX 4090;",
                "-gencode=arch=compute_80,code=[sm_80,compute_80] --gpu-architecture 'sm_90';",
                ">=9.1, <10, ^9.8, ~9.2.1, =9.14.0, *, ",
                "T4 ",
                "0, 2,3,",
                "9.14.0",
            ],
        ),
        (
            "packages",
            &[
                "nvidia/cudnn/lib/libcudnn.so.9,sha256=47DE,104664\nnvidia_cudnn_cu13-9.28.0.42.dist-info\nlibcudnn_graph.so.9.14.0\ncudnn_ops64_9.dll\n",
                "[alias]\nb = \"build\"\n[env] # x\nA = \"1\"\nenv.A = 1\n",
                "# x\nnvidia-cudnn-cu13==9.28.1.4 \\\n    --hash=sha256:0a \\\n    --hash=sha256:0b\n",
            ],
        ),
        (
            "lines",
            &[
                "/opt/a,b/lib\ncargo::rustc-env=A=B\u{1b}[2J\u{202e}\"\\ ",
                "-1.5e300",
                "CUDNN_GUARD=warn\nCUDNN_GUARD_DEADLINE=1e400\nCUDNN_GUARD_DEVICES=0,x\nCUDNN_GUARD_ALLOW=a,\u{1b}\nCUDA_PATH_V13_0=C:\\cuda\nLOCAL_RANK=3\n",
            ],
        ),
        ("protocol", &[outcome, problem, driver]),
        (
            "loader",
            &[
                "/lib/a.so:b.so # x\n libc.so.6\n",
                "$ORIGIN/../${LIB}:$PLATFORM:$LIBS",
                "/l/libcublas.so.12: undefined symbol: x, version libcublasLt.so.12\n",
                "/l/m: version `GLIBC_2.38' not found (required by /l/libcudnn.so.9)",
                "libz.so.1: cannot open shared object file: No such file or directory",
                "7f0000000000-7f0000002000 r--p 00000000 08:01 77    /usr/lib/libc.so.6\n",
                "\0/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0",
            ],
        ),
    ];
    for (target, texts) in texts {
        for (index, text) in texts.iter().enumerate() {
            corpus.text(target, &format!("text-{index}"), text);
        }
    }
    // An unknown word in every line.
    let words = |number: usize| outcome.replace("forward", &number.to_string());
    let words: String = (0..8000).map(words).collect();
    corpus.add("protocol", "words", words);
}

fn loader(corpus: &Corpus) {
    for file in ["/etc/ld.so.cache", "/etc/ld.so.conf", "/proc/self/maps"] {
        if let Ok(bytes) = fs::read(file) {
            corpus.add("loader", &file.replace('/', "-"), bytes);
        }
    }
    let cache = cache_of(&[("libcudnn.so.9", "/opt/lib/libcudnn.so.9"); 3]);
    corpus.add("loader", "cache-long", repeated(&cache));
    corpus.add("loader", "cache", cache);
}

const RECORD: &str = "guard 0.1.0\ncrate app 0.1.0\ncudnn 9.14.0\ncudnn-cuda 13\ncuda 13.0.0\nrequirement >=9.1, <10\n\
    from 9.1.0\nbelow 10.0.0\npolicy compatible\nloader dlopen\ncudarc 0.19.1\ntargets sm_80 sm_90a compute_120f\n\
    needs graph conv3d-bf16\nconvolution true\nrequire-gpu false\nfinding warning parts-mixed a \\n b\n\
    gpus 9.14.0 9.14.0 13 sm_75 sm_80\nknown-bad 9.1.0 9.2.0 9.2.1 - conv3d-bf16 give wrong numbers\n\
    driver 13 580.65.06\nptx 12.4.0\nbuild-ids 9.14.0 0a1b2c3d\nabsent \\\\ none\n";

fn record(text: &str) -> Vec<u8> {
    let length = (text.len() as u32).to_le_bytes();
    [b"cdnngrd\x01", &length[..], text.as_bytes()].concat()
}

fn records(corpus: &Corpus) {
    corpus.add("record", "whole", record(RECORD));
    corpus.add("record", "many", repeated(&record(RECORD)));
    corpus.add(
        "record",
        "newer",
        record("guard 9.0.0\npolicy newer\nloader newer\nx y\n"),
    );
    let long = "finding note a b\n".repeat(BIG / 40);
    corpus.add("record", "long", record(&format!("{RECORD}{long}")));
    corpus.add("record", "letters", repeated(b"cdnngrd\x01"));
}

fn fatbin(targets: impl Iterator<Item = (u16, u32, u64)>) -> Vec<u8> {
    let mut entries = Vec::new();
    for (kind, number, flags) in targets {
        let mut entry = [0; 48];
        entry[..2].copy_from_slice(&kind.to_le_bytes());
        entry[4] = 48;
        entry[28..32].copy_from_slice(&number.to_le_bytes());
        entry[40..].copy_from_slice(&flags.to_le_bytes());
        entries.extend_from_slice(&entry);
    }
    let mark = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    [&mark[..], &(entries.len() as u64).to_le_bytes(), &entries].concat()
}

fn fatbins(corpus: &Corpus) {
    let few = fatbin([(2, 80, 0), (2, 90, 1 << 20), (1, 120, 1 << 21), (16, 80, 0)].into_iter());
    corpus.add("fatbin", "few", &few);
    corpus.add("fatbin", "two", [&few[..], &[0; 40], &few].concat());
    corpus.add("fatbin", "same", repeated(&few));
    let many = (0..20_000).map(|number| (2, number, 0));
    corpus.add("fatbin", "different", fatbin(many));
    corpus.add("fatbin", "zeros", vec![0; BIG]);
    corpus.add("fatbin", "cublas", b"x\0libcublasLt.so.12\0\0\x0e\x09\0");
}

fn windows(corpus: &Corpus) {
    let functions = |count: usize| (0..count).map(|at| format!("cudnnCreate{at}")).collect();
    let few = DllSpec {
        machine: 0x8664,
        version: Some([9, 14, 0]),
        exports: vec![
            ("cudnn_graph_version".into(), [9, 14, 0]),
            ("cudnn_x".into(), [0; 3]),
        ],
        imports: vec![
            ("cublas64_12.dll".into(), functions(3)),
            ("KERNEL32.dll".into(), functions(2)),
        ],
        delayed: vec!["cudart64_13.dll".into()],
        text: "cublasLt64_12.dll\0".into(),
        code: fatbin([(2, 80, 0)].into_iter()),
    };
    let many = DllSpec {
        imports: (0..20)
            .map(|at| (format!("d{at}.dll"), functions(1000)))
            .collect(),
        text: "x".repeat(BIG / 2),
        ..few.clone()
    };
    let bytes = few.bytes();
    corpus.add("pe", "cut", &bytes[..bytes.len() - 1]);
    corpus.add("pe", "many", many.bytes());
    let guarded = [&bytes[..], &record(RECORD)].concat();
    corpus.add("inspect", "dll", &guarded);
    corpus.add("pe", "few", bytes);
}

/// Adds programs and libraries from the C compiler, both small and padded to 1 MB.
fn linux(corpus: &Corpus) {
    let folder = corpus.0.join("libraries");
    fs::create_dir_all(&folder).expect("cannot create a directory for libraries");
    let at = |name: &str| folder.join(name);
    let bytes = record(RECORD);
    let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
    let library = "int cudnn_graph_version = 0x090e00; int cudnnGetVersion(void) { return 91400; } \
        const char *cublas = \"libcublasLt.so.12\";";
    let program = format!(
        "#include <stdio.h>\nint cudnnGetVersion(void); const unsigned char record[] = {{{}}};\n\
         int main(void) {{ return printf(\"%d%p\", cudnnGetVersion(), (const void *)record); }}",
        numbers.join(",")
    );
    fs::write(at("library.c"), library).expect("cannot write library.c");
    fs::write(at("program.c"), program).expect("cannot write program.c");
    fs::write(
        at("versions"),
        "libcudnn.so.9 { global: cudnn*; local: *; };\n",
    )
    .expect("cannot write the version script");
    let compile = |name: &str, args: &[&str]| {
        let mut command = Command::new("cc");
        command
            .current_dir(&folder)
            .args(["-Os", "-s", "-o", name])
            .args(args);
        assert!(
            command.status().expect("cannot run cc").success(),
            "{command:?}"
        );
        fs::read(at(name)).expect("cannot read the output of cc")
    };
    let shared = [
        "-shared",
        "-fPIC",
        "library.c",
        "-nostdlib",
        "-Wl,-soname,libcudnn.so.9",
    ];
    let mut made = Vec::new();
    for style in ["gnu", "sysv"] {
        let style_flag = format!("-Wl,--hash-style={style}");
        let args = [&shared[..], &[&style_flag, "-Wl,--version-script=versions"]].concat();
        made.push((style, compile(&format!("{style}.so"), &args)));
    }
    for (name, tags) in [
        ("rpath", "--disable-new-dtags"),
        ("runpath", "--enable-new-dtags"),
    ] {
        let paths = "-Wl,-rpath,$ORIGIN/../$LIB:/opt:/usr/local/cuda/lib64";
        let args = ["program.c", "gnu.so", paths, &format!("-Wl,{tags}")];
        made.push((name, compile(name, &args)));
    }
    for (name, bytes) in made {
        let mut long = bytes.clone();
        long.resize(BIG, b'c');
        corpus.add("inspect", &format!("{name}-long"), &long);
        corpus.add("elf", &format!("{name}-long"), long);
        let cache = cache_of(&[
            ("libcudnn.so.9", "/usr/lib/libcudnn.so.9"),
            ("libc.so.6", "/opt/liba.so"),
        ]);
        let conf =
            b"include ld.so.conf.d/*.conf\ninclude ../../**\n/opt # x\n/usr/local/cuda/lib64\n"
                .to_vec();
        let preload = b"/opt/liba.so b.so\n".to_vec();
        let header =
            b"#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 14\n#define CUDNN_PATCHLEVEL 0\n".to_vec();
        let with_cache = [
            bytes.clone(),
            conf.clone(),
            cache,
            preload.clone(),
            header.clone(),
        ];
        corpus.add("inspect", name, with_cache.join(BETWEEN));
        let without = [bytes.clone(), conf, Vec::new(), preload, header];
        corpus.add("inspect", &format!("{name}-conf"), without.join(BETWEEN));
        corpus.add("elf", name, bytes);
    }
    for file in ["/bin/true", "/lib64/ld-linux-x86-64.so.2"] {
        if let Ok(mut bytes) = fs::read(file) {
            let name = file.replace('/', "-");
            corpus.add("elf", &name, &bytes);
            bytes.truncate(CUT);
            corpus.add("elf", &format!("{name}-cut"), bytes);
        }
    }
}

fn nvidia(corpus: &Corpus, folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            nvidia(corpus, &path);
        }
        let target = match name.rsplit_once('.') {
            Some((_, "dll")) => "pe",
            _ if name.contains(".so.") => "elf",
            _ if name.starts_with("cudnn_version") || name == "cuda.h" => "tools",
            _ if name == "RECORD" => "packages",
            _ => continue,
        };
        let mut bytes = Vec::new();
        let read = fs::File::open(&path).map(|file| file.take(CUT as u64).read_to_end(&mut bytes));
        if read.is_ok() {
            let name = path.to_string_lossy().replace('/', "-");
            corpus.add(
                target,
                &format!("real-{}", name.trim_start_matches('-')),
                bytes,
            );
        }
    }
}
