// DLLs for tests. tests/programs/terminal/inspect.rs includes this file.

/// The contents of a DLL. It has a section of constants at 0x1000, and a section of device code if `code` is not empty.
#[derive(Clone, Debug, Default)]
pub struct DllSpec {
    /// The machine number of the CPU.
    pub machine: u16,
    /// The version resource.
    pub version: Option<[u16; 3]>,
    /// The exports in alphabetical order, each with the four bytes of a version.
    pub exports: Vec<(String, [u8; 3])>,
    /// The imports.
    pub imports: Vec<(String, Vec<String>)>,
    /// The delay-loaded DLLs.
    pub delayed: Vec<String>,
    /// A text among its constants.
    pub text: String,
    /// The device code, as fatbins.
    pub code: Vec<u8>,
}

/// The signature of VS_FIXEDFILEINFO.
const FIXED: u32 = 0xfeef_04bd;
/// The address of the section in memory, and its offset in the file.
const ADDRESS: u32 = 0x1000;
const OFFSET: usize = 0x200;
/// The size of the optional header.
const HEADER: u8 = 240;

impl DllSpec {
    /// Creates a DLL from lines such as `version 9.1.0`, `exports cudnn_graph_version`,
    /// `imports cublas64_11.dll one two`, `delays cudart64_13.dll`, `cpu aarch64`, `text cublasLt64_12.dll`, `cut`.
    pub fn from_lines(text: &str, cpu: &str) -> Vec<u8> {
        let mut made = Self::default();
        let (mut cpu, mut cut) = (cpu.to_string(), false);
        for line in text.lines() {
            let mut words = line.split(' ').map(String::from);
            match words.next().as_deref() {
                Some("version") => {
                    let numbers = words.next().unwrap_or_default();
                    let mut numbers = numbers.split('.').map(|one| one.parse().unwrap());
                    made.version = Some(std::array::from_fn(|_| numbers.next().unwrap()));
                }
                Some("exports") => made.exports.extend(words.map(|name| (name, [0; 3]))),
                Some("imports") => {
                    let from = words.next().unwrap();
                    made.imports.push((from, words.collect()));
                }
                Some("delays") => made.delayed.extend(words),
                Some("text") => made.text.extend(words.map(|word| word + "\0")),
                Some("cpu") => cpu = words.next().unwrap(),
                Some("cut") => cut = true,
                _ => panic!("{line:?} is not a line of a DLL"),
            }
        }
        made.machine = match cpu.as_str() {
            "aarch64" => 0xaa64,
            "i686" => 0x14c,
            _ => 0x8664,
        };
        let mut bytes = made.bytes();
        bytes.truncate(if cut { bytes.len() - 1 } else { bytes.len() });
        bytes
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut data = Data(Vec::new());
        let exports = data.exports(&self.exports);
        let imports = data.imports(&self.imports);
        let delayed = data.delayed(&self.delayed);
        let resources = self.version.map_or(0, |version| data.version(version));
        data.put(self.text.as_bytes());
        data.put(&[0; 8]);
        let size = u32::try_from(data.0.len()).unwrap();
        let mut file = vec![0; OFFSET];
        let mut set = |at: usize, value: &[u8]| file[at..at + value.len()].copy_from_slice(value);
        set(0, b"MZ");
        set(0x3c, &[0x40]);
        set(0x40, b"PE\0\0");
        set(0x44, &self.machine.to_le_bytes());
        set(0x46, &[1]);
        set(0x54, &[HEADER]);
        set(0x58, &[0x0b, 0x02]);
        let tables = [
            (112, exports),
            (120, imports),
            (128, resources),
            (216, delayed),
        ];
        for (at, table) in tables {
            set(0x58 + at, &table.to_le_bytes());
        }
        let header = 0x58 + usize::from(HEADER);
        set(header, b".rdata");
        for (at, value) in [(12, ADDRESS), (16, size), (20, OFFSET as u32)] {
            set(header + at, &value.to_le_bytes());
        }
        if !self.code.is_empty() {
            set(0x46, &[2]);
            let (header, offset) = (header + 40, OFFSET as u32 + size);
            set(header, b".nv_fatb");
            let length = self.code.len() as u32;
            for (at, value) in [(12, ADDRESS + size), (16, length), (20, offset)] {
                set(header + at, &value.to_le_bytes());
            }
        }
        [file, data.0, self.code.clone()].concat()
    }
}

/// The bytes of the section.
struct Data(Vec<u8>);

impl Data {
    fn put(&mut self, bytes: &[u8]) -> u32 {
        let at = self.0.len().next_multiple_of(8);
        self.0.resize(at, 0);
        self.0.extend(bytes);
        ADDRESS + u32::try_from(at).unwrap()
    }

    fn words(&mut self, words: &[u32]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(&bytes)
    }

    fn text(&mut self, text: &str) -> u32 {
        self.put(&[text.as_bytes(), &[0]].concat())
    }

    /// Writes the exports. Names point to ordinals, and ordinals to functions, in reverse order so that a mistake is
    /// noticed.
    fn exports(&mut self, exports: &[(String, [u8; 3])]) -> u32 {
        let count = exports.len() as u32;
        if count == 0 {
            return 0;
        }
        let names: Vec<u32> = exports.iter().map(|one| self.text(&one.0)).collect();
        let back = exports.iter().rev();
        let functions: Vec<u32> = back
            .map(|(_, [major, minor, patch])| self.put(&[*patch, *minor, *major, 0]))
            .collect();
        let ordinals: Vec<u8> = (0..count)
            .rev()
            .flat_map(|index| (index as u16).to_le_bytes())
            .collect();
        let (functions, names) = (self.words(&functions), self.words(&names));
        let ordinals = self.put(&ordinals);
        self.words(&[0, 0, 0, 0, 0, 0, count, functions, names, ordinals])
    }

    fn imports(&mut self, imports: &[(String, Vec<String>)]) -> u32 {
        if imports.is_empty() {
            return 0;
        }
        let mut table = Vec::new();
        for (from, functions) in imports {
            let mut list = Vec::new();
            for function in functions {
                let hint = [&[0, 0], function.as_bytes(), &[0]].concat();
                list.extend([self.put(&hint), 0]);
            }
            list.extend([0, 0]);
            let list = self.words(&list);
            table.extend([list, 0, 0, self.text(from), list]);
        }
        table.extend([0; 5]);
        self.words(&table)
    }

    fn delayed(&mut self, delayed: &[String]) -> u32 {
        if delayed.is_empty() {
            return 0;
        }
        let mut table = Vec::new();
        for name in delayed {
            table.extend([1, self.text(name), 0, 0, 0, 0, 0, 0]);
        }
        table.extend([0; 8]);
        self.words(&table)
    }

    /// Writes a resource of type 16 with one name and one language.
    fn version(&mut self, [major, minor, patch]: [u16; 3]) -> u32 {
        let pair = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        let fixed = [0, FIXED, 1 << 16, pair(major, minor), pair(patch, 42)];
        let data = self.words(&fixed);
        let start = ADDRESS + self.0.len().next_multiple_of(8) as u32;
        let one = |id: u32, child: u32| [0, 0, 0, 1 << 16, id, child];
        let below = 1 << 31;
        let tree = [one(16, below | 24), one(1, below | 48), one(1033, 72)].concat();
        assert_eq!(self.words(&[&tree[..], &[data, 20]].concat()), start);
        start
    }
}
