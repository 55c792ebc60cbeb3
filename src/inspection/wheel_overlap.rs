//! Wheels that overwrite each other's libraries, because they contain files with the same path. pip does not notice.

use crate::inspection::InspectionFault;
use crate::inspection::frameworks::environments;
use crate::model::Owner;
use crate::runtime::facts::Finding;
use crate::runtime::install::package_owner::only;
use crate::runtime::install::package_record::{list_named, read};
use crate::system::{Host, files};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Returns the wheels of the active environments that overwrite each other, with the first of their libraries. Those of
/// cuDNN are known from its directory.
pub fn find(host: &Host) -> Vec<Finding> {
    let (mut findings, mut known) = (Vec::new(), Vec::new());
    let sites = |dir: PathBuf| host.sysroot().expand(&dir, "lib/python#/site-packages");
    for site in environments(host, true).into_iter().flat_map(sites) {
        let starts = ["nvidia_", "onnxruntime", "torch"].into_iter();
        let records = starts.flat_map(|start| list_named(&site, start, "-", ".dist-info"));
        let (mut libraries, mut metadata) = (BTreeMap::<_, Vec<_>>::new(), String::new());
        for record in records {
            let text = read(&record.join("RECORD")).unwrap_or_default();
            for (path, contents) in text.lines().filter_map(library) {
                let entry = Owner::of_wheel(&record).map(|wheel| (wheel, contents.to_string()));
                libraries.entry(path.to_string()).or_default().extend(entry);
            }
            metadata += &read(&record.join("METADATA")).unwrap_or_default();
        }
        for (path, mut entries) in libraries {
            entries.sort_by_key(|(wheel, _)| {
                let is_required = metadata.contains(&format!("Requires-Dist: {}==", wheel.name));
                !is_required && !wheel.name.ends_with("-gpu")
            });
            // An interrupted upgrade leaves two records of a wheel.
            let (first, contents) = &entries[0];
            let mut others = entries.iter();
            let is_other = others.any(|one| one.0.name != first.name && one.1 != *contents);
            let wheels: Vec<Owner> = entries.iter().map(|one| one.0.clone()).collect();
            if is_other && !known.contains(&wheels) {
                let file = site.join(path);
                let size = format!(",{}", files::size(&file));
                entries.retain(|one| one.1.ends_with(&size));
                let installed = only(entries).map(|one| one.0);
                let fault = InspectionFault::SharedFile(&file, &wheels, installed.as_ref());
                findings.push(fault.finding());
                known.push(wheels);
            }
        }
    }
    findings
}

/// Parses a line of a record, `nvidia/nccl/lib/libnccl.so.2,sha256=hash,size`, if the file is a library.
fn library(line: &str) -> Option<(&str, &str)> {
    let (path, contents) = line.split_once(",sha256=")?;
    let is_library = path.ends_with(".so") || path.contains(".so.");
    (is_library && !path.contains("cudnn")).then_some((path, contents))
}
