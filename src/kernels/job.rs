//! One file to compile, where its product goes, and whether that is still fresh.

use crate::host::{Host, files, outputs, programs, stamp};
use crate::model::env::Variable;
use crate::model::finding::Finding;
use crate::model::invocation::Invocation;
use crate::rules::compile::{Plan, Product, compile, parse_depfile};
use crate::rules::complaint;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// One file, and what is made of it.
pub struct Job {
    /// The `.cu` file.
    pub source: PathBuf,
    /// The object or the PTX.
    pub output: PathBuf,
    depfile: PathBuf,
    stamp: PathBuf,
}

/// What was read to make it, and what nvcc said on the way.
pub struct Made {
    /// All files that nvcc read, the source first.
    pub files: Vec<PathBuf>,
    /// Its warnings.
    pub said: String,
}

impl Job {
    /// One job for every source, each with a place of its own below `out_dir`.
    pub fn all(
        host: &Host,
        product: Product,
        folder: &str,
        sources: Vec<PathBuf>,
        out_dir: &Path,
    ) -> Result<Vec<Self>, Finding> {
        let package = host.env.text("CARGO_MANIFEST_DIR");
        // `object` and `ptx` keep a library of the name `ptx` apart.
        let kind = if product == Product::Object {
            "lib"
        } else {
            ""
        };
        let folder = out_dir.join("cudnn-guard").join(format!("{kind}{folder}"));
        outputs::create_dir(&folder)?;
        let stem = |path: &Path| {
            path.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        let stems: Vec<String> = sources.iter().map(|path| stem(path)).collect();
        let jobs = sources.into_iter().zip(&stems).map(|(source, stem)| {
            let numbered = format!("{stem}-{:016x}", hash(package, &source));
            let unique = stems.iter().filter(|other| *other == stem).count() == 1;
            let (name, output) = match product {
                Product::Object => (&numbered, folder.join(format!("{numbered}.o"))),
                Product::Ptx if unique => (stem, out_dir.join(format!("{stem}.ptx"))),
                Product::Ptx => (&numbered, out_dir.join(format!("{numbered}.ptx"))),
            };
            Self {
                depfile: folder.join(format!("{name}.d")),
                stamp: folder.join(format!("{name}.stamp")),
                source,
                output,
            }
        });
        Ok(jobs.collect())
    }

    fn command(&self, plan: &Plan, host: &Host) -> Invocation {
        compile(
            plan,
            &self.source,
            &self.output,
            &self.depfile,
            &host.platform,
            &host.env,
        )
    }

    /// All that decides what comes out, the files that are read apart.
    fn how(&self, plan: &Plan, host: &Host) -> String {
        let flags = [Variable::NvccPrependFlags, Variable::NvccAppendFlags]
            .map(|variable| host.env.get(variable).unwrap_or_default().to_string_lossy());
        format!(
            "{}\n{}\n{flags:?}",
            self.command(plan, host),
            stamp::state(&plan.nvcc).unwrap_or_default()
        )
    }

    /// The files that it was made from, if it is there and none of them has changed.
    pub fn fresh(&self, plan: &Plan, host: &Host) -> Option<Vec<PathBuf>> {
        let files = stamp::fresh(&self.stamp, &self.how(plan, host))?;
        files::is_file(&self.output).then_some(files)
    }

    /// Makes it, unless it is fresh.
    pub fn make(&self, plan: &Plan, host: &Host) -> Result<Made, Finding> {
        if let Some(files) = self.fresh(plan, host) {
            return Ok(Made {
                files,
                said: String::new(),
            });
        }
        stamp::remove(&self.stamp);
        let begun = SystemTime::now();
        let command = self.command(plan, host);
        let output = programs::run_to_end(&command)?;
        let said = output.stdout + &output.stderr;
        if !output.success || !files::is_file(&self.output) {
            let source = self.source.display();
            // Its empty lines tell nothing, and cargo puts the name of the package before each.
            let words: Vec<&str> = said
                .lines()
                .filter(|line| !line.trim().is_empty())
                .collect();
            let words = match &*words {
                [] => "nothing".to_string(),
                words => words.join("\n"),
            };
            let mut finding =
                Finding::error("nvcc-failed", format!("nvcc could not compile `{source}`"))
                    .with("command", &command)
                    .with("nvcc says", words);
            if let Some(help) = complaint::help(&said) {
                finding = finding.help(help);
            }
            return Err(finding);
        }
        let files = parse_depfile(&files::read(&self.depfile).unwrap_or_default());
        if !files.is_empty() {
            stamp::write(&self.stamp, &self.how(plan, host), &files, begun);
        }
        Ok(Made { files, said })
    }
}

/// A number for a path that is the same wherever the package lies: FNV-1a of the path within the package.
pub fn hash(package: Option<&str>, path: &Path) -> u64 {
    let within = package.and_then(|package| path.strip_prefix(package).ok());
    let text = within.unwrap_or(path).to_string_lossy().replace('\\', "/");
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
