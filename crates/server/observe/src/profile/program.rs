//! Facts about a program's functions from its file: a little-endian 64-bit ELF file.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use pgdyno_core::profile::{ProfiledProgram, Symbols};

/// Where distributions put debug symbols.
const DEBUG_DIR: &str = "/usr/lib/debug";
/// Size of the header of a file, of that of a section, and of an entry of a symbol table.
const HEADER: usize = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
/// Most sections, and largest section that is read.
const MOST_SECTIONS: u64 = 1 << 12;
const LARGEST_BYTES: u64 = 64 << 20;
/// Most functions whose first instructions are read, and their least size: shorter ones may call nothing.
const LOOKED_AT: usize = 400;
const LEAST_BYTES: u64 = 64;
/// Bytes of them.
const BEGIN: usize = 24;
/// Processors by the number in the header.
const X86_64: u16 = 62;
const AARCH64: u16 = 183;

/// Facts about the program of a process; `None` if its file cannot be read, or is of an unknown kind.
pub(crate) fn of_process(pid: u32) -> Option<ProfiledProgram> {
    let exe = PathBuf::from(format!("/proc/{pid}/exe"));
    let path = std::fs::read_link(&exe).ok()?.to_string_lossy().into_owned();
    let path = path.strip_suffix(" (deleted)").unwrap_or(&path).to_owned();
    // The link also leads to files that were removed, or that have another path here.
    of_file(&exe, path, Path::new(DEBUG_DIR))
}

fn of_file(file: &Path, path: String, debug_dir: &Path) -> Option<ProfiledProgram> {
    let elf = Elf::open(file)?;
    let build_id = elf.build_id();
    let separate = build_id.as_deref().is_some_and(|id| has_debug_file(debug_dir, id));
    let symbols = match (elf.section(".symtab"), elf.section(".dynsym")) {
        (Some(_), _) => Symbols::All,
        _ if separate => Symbols::Separate,
        (None, Some(_)) => Symbols::Exported,
        (None, None) => Symbols::None,
    };
    let debug_info =
        separate || [".debug_info", ".zdebug_info"].iter().any(|name| elf.section(name).is_some());
    let keeps_frame_pointers = elf.keeps_frame_pointers();
    Some(ProfiledProgram { path, build_id, symbols, debug_info, keeps_frame_pointers })
}

/// Whether there are debug symbols for a build id.
fn has_debug_file(debug_dir: &Path, build_id: &str) -> bool {
    let Some((first, rest)) = build_id.split_at_checked(2) else { return false };
    debug_dir.join(".build-id").join(first).join(format!("{rest}.debug")).is_file()
}

struct Elf {
    file: File,
    machine: u16,
    sections: Vec<Section>,
}

#[derive(Debug, Clone, Default)]
struct Section {
    name: String,
    /// Address in memory, offset in the file, and size in bytes.
    address: u64,
    offset: u64,
    size: u64,
}

impl Elf {
    fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let header = read(&file, 0, HEADER as u64)?;
        // Class: 64 bits; data: least byte first.
        if !header.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let machine = u16_at(&header, 18)?;
        let (offset, size) = (u64_at(&header, 40)?, u64::from(u16_at(&header, 58)?));
        let (count, names) = (u64::from(u16_at(&header, 60)?), usize::from(u16_at(&header, 62)?));
        if size != SECTION as u64 || count > MOST_SECTIONS {
            return None;
        }
        let table = read(&file, offset, count * size)?;
        let raw: Vec<(usize, Section)> = table.chunks_exact(SECTION).filter_map(section).collect();
        let (_, names) = raw.get(names)?;
        let names = read(&file, names.offset, names.size)?;
        let named = |(at, section): (usize, Section)| Section { name: text_at(&names, at), ..section };
        Some(Self { sections: raw.into_iter().map(named).collect(), file, machine })
    }

    fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    fn content(&self, name: &str) -> Option<Vec<u8>> {
        let section = self.section(name)?;
        read(&self.file, section.offset, section.size)
    }

    /// The description of the note: after the sizes of name and description, the type, and the name `GNU`.
    fn build_id(&self) -> Option<String> {
        let note = self.content(".note.gnu.build-id")?;
        let (name, size) = (u32_at(&note, 0)? as usize, u32_at(&note, 4)? as usize);
        let begin = 12 + name.next_multiple_of(4);
        let id = note.get(begin..begin.checked_add(size)?)?;
        Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether most functions begin with saving and setting the frame pointer.
    fn keeps_frame_pointers(&self) -> Option<bool> {
        let keeps: fn(&[u8]) -> bool = match self.machine {
            X86_64 => keeps_on_x86_64,
            AARCH64 => keeps_on_aarch64,
            _ => return None,
        };
        let text = self.section(".text")?;
        let begins = self.functions(text)?;
        let each = begins.len().div_ceil(LOOKED_AT).max(1);
        let looked: Vec<bool> = begins
            .iter()
            .step_by(each)
            .filter_map(|address| {
                read(&self.file, text.offset.wrapping_add(address - text.address), BEGIN as u64)
            })
            .map(|begin| keeps(&begin))
            .collect();
        let kept = looked.iter().filter(|kept| **kept).count();
        (!looked.is_empty()).then_some(2 * kept > looked.len())
    }

    /// Addresses of the functions in a section.
    fn functions(&self, text: &Section) -> Option<Vec<u64>> {
        let table = self.content(".symtab").or_else(|| self.content(".dynsym"))?;
        let end = text.address.checked_add(text.size)?.checked_sub(BEGIN as u64)?;
        let function = |entry: &[u8]| {
            let (address, size) = (u64_at(entry, 8)?, u64_at(entry, 16)?);
            // The low four bits are the type, of which 2 is a function.
            let is_one = entry[4] & 0xf == 2 && size >= LEAST_BYTES;
            (is_one && (text.address..end).contains(&address)).then_some(address)
        };
        Some(table.chunks_exact(SYMBOL).filter_map(function).collect())
    }
}

/// The offset of its name, and a section.
fn section(header: &[u8]) -> Option<(usize, Section)> {
    let (address, offset, size) = (u64_at(header, 16)?, u64_at(header, 24)?, u64_at(header, 32)?);
    Some((u32_at(header, 0)? as usize, Section { name: String::new(), address, offset, size }))
}

/// `push %rbp` at once or after `endbr64`, and `mov %rsp,%rbp` soon after.
fn keeps_on_x86_64(begin: &[u8]) -> bool {
    let begin = begin.strip_prefix(b"\xf3\x0f\x1e\xfa").unwrap_or(begin);
    let moves = |bytes: &[u8]| matches!(bytes, [0x48, 0x89, 0xe5] | [0x48, 0x8b, 0xec]);
    begin.first() == Some(&0x55) && begin.windows(3).any(moves)
}

/// `stp x29, x30, [sp, #-N]!` among the first instructions, and `mov x29, sp` or `add x29, sp, #N` after it.
fn keeps_on_aarch64(begin: &[u8]) -> bool {
    let words: Vec<u32> = begin.chunks_exact(4).filter_map(|word| u32_at(word, 0)).collect();
    let saves = words.iter().position(|word| word & 0xffc0_7fff == 0xa980_7bfd);
    saves.is_some_and(|at| words[at..].iter().any(|word| word & 0xff80_03ff == 0x9100_03fd))
}

fn read(file: &File, offset: u64, size: u64) -> Option<Vec<u8>> {
    if size > LARGEST_BYTES {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_le_bytes)
}

fn text_at(bytes: &[u8], at: usize) -> String {
    let text = bytes.get(at..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// An ELF file with functions of 64 bytes that begin with `code`, and these sections.
    fn elf(machine: u16, code: &[u8], sections: &[&str]) -> Vec<u8> {
        const FUNCTIONS: usize = 10;
        let mut body = vec![0; HEADER];
        let mut headers = vec![[0; SECTION]];
        let mut names = vec![0];
        let mut add = |name: &str, content: &[u8]| {
            let mut header = [0; SECTION];
            header[0..4].copy_from_slice(&(names.len() as u32).to_le_bytes());
            header[16..24].copy_from_slice(&0x40_0000_u64.to_le_bytes());
            header[24..32].copy_from_slice(&(body.len() as u64).to_le_bytes());
            names.extend(name.bytes().chain([0]));
            if name == ".shstrtab" {
                body.extend(&names);
                header[32..40].copy_from_slice(&(names.len() as u64).to_le_bytes());
            } else {
                body.extend(content);
                header[32..40].copy_from_slice(&(content.len() as u64).to_le_bytes());
            }
            headers.push(header);
        };
        let mut function = code.to_vec();
        function.resize(64, 0x90);
        add(".text", &function.repeat(FUNCTIONS + 1));
        let mut table = Vec::new();
        for n in 0..FUNCTIONS as u64 {
            let mut entry = [0; SYMBOL];
            entry[4] = 0x12;
            entry[8..16].copy_from_slice(&(0x40_0000 + n * 64).to_le_bytes());
            entry[16..24].copy_from_slice(&64_u64.to_le_bytes());
            table.extend(entry);
        }
        for name in sections {
            let note = *b"\x04\0\0\0\x03\0\0\0\x03\0\0\0GNU\0\xab\xcd\xef\0";
            add(name, if name.starts_with(".note") { &note } else { &table });
        }
        add(".shstrtab", &[]);
        let (at, count) = (body.len() as u64, headers.len() as u16);
        body[..6].copy_from_slice(b"\x7fELF\x02\x01");
        body[18..20].copy_from_slice(&machine.to_le_bytes());
        body[40..48].copy_from_slice(&at.to_le_bytes());
        body[58..60].copy_from_slice(&(SECTION as u16).to_le_bytes());
        body[60..62].copy_from_slice(&count.to_le_bytes());
        body[62..64].copy_from_slice(&(count - 1).to_le_bytes());
        body.extend(headers.concat());
        body
    }

    fn read_from(content: &[u8], debug: Option<&str>) -> Option<ProfiledProgram> {
        let place = tempfile::tempdir().expect("there is room");
        let file = place.path().join("postgres");
        fs::write(&file, content).expect("it can be written");
        if let Some(debug) = debug {
            let debug = place.path().join(debug);
            fs::create_dir_all(debug.parent().expect("it has one")).expect("it can be made");
            fs::write(debug, "").expect("it can be written");
        }
        of_file(&file, "postgres".to_owned(), place.path())
    }

    const NOTE: &str = ".note.gnu.build-id";

    #[test]
    fn symbols_and_build_ids_are_found() {
        let symbols = |sections: &[&str]| read_from(&elf(X86_64, &[], sections), None).map(|of| of.symbols);
        assert_eq!(symbols(&[".dynsym", ".symtab"]), Some(Symbols::All));
        assert_eq!(symbols(&[".dynsym"]), Some(Symbols::Exported));
        assert_eq!(symbols(&[]), Some(Symbols::None));
        let stripped = elf(X86_64, &[], &[".dynsym", NOTE]);
        let with = read_from(&stripped, Some(".build-id/ab/cdef.debug")).expect("it is one");
        assert_eq!((with.symbols, with.debug_info), (Symbols::Separate, true));
        assert_eq!(with.build_id.as_deref(), Some("abcdef"));
        let without = read_from(&stripped, Some(".build-id/ab/cdee.debug")).expect("it is one");
        assert_eq!((without.symbols, without.debug_info), (Symbols::Exported, false));
        let debug = read_from(&elf(X86_64, &[], &[".symtab", ".debug_info"]), None).expect("it is one");
        assert!(debug.debug_info && debug.build_id.is_none());
    }

    #[test]
    fn frame_pointers_are_seen_in_the_first_instructions() {
        let keeps = |machine, code: &[u8]| {
            read_from(&elf(machine, code, &[".symtab"]), None).expect("it is one").keeps_frame_pointers
        };
        assert_eq!(keeps(X86_64, b"\x55\x48\x89\xe5"), Some(true));
        assert_eq!(keeps(X86_64, b"\xf3\x0f\x1e\xfa\x55\x31\xc0\x48\x89\xe5"), Some(true));
        assert_eq!(keeps(X86_64, b"\x55\x53\x48\x83\xec\x08"), Some(false));
        assert_eq!(keeps(X86_64, b"\x41\x57\x48\x89\xe5"), Some(false));
        // paciasp; stp x29, x30, [sp, #-32]!; mov x29, sp
        let arm = b"\x3f\x23\x03\xd5\xfd\x7b\xbe\xa9\xfd\x03\x00\x91";
        assert_eq!(keeps(AARCH64, arm), Some(true));
        assert_eq!(keeps(AARCH64, &arm[..4]), Some(false));
        assert_eq!(keeps(243, b"\x55\x48\x89\xe5"), None);
        let without = read_from(&elf(X86_64, b"\x55\x48\x89\xe5", &[]), None).expect("it is one");
        assert_eq!(without.keeps_frame_pointers, None);
    }

    #[test]
    fn damaged_files_are_none() {
        let whole = elf(X86_64, b"\x55\x48\x89\xe5", &[".symtab", NOTE]);
        for cut in [0, 5, 63, 64, whole.len() - 1] {
            assert_eq!(read_from(&whole[..cut], None), None, "{cut}");
        }
        // Whatever byte is wrong, nothing panics.
        for at in (0..HEADER).chain(whole.len() - 5 * SECTION..whole.len()) {
            let mut wrong = whole.clone();
            wrong[at] ^= 0xff;
            read_from(&wrong, None);
        }
    }

    #[test]
    fn the_program_of_this_process_is_read() {
        let own = of_process(std::process::id()).expect("it is a program of this machine");
        assert_eq!(own.symbols, Symbols::All);
        assert!(own.path.contains("pgdyno_observe"), "{}", own.path);
        assert_eq!(of_process(u32::MAX), None);
    }
}
