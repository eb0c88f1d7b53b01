/// The rules by which files of a data directory belong to a backup.
public enum BackupNames {
  /// The member that says what the archive is. It comes first.
  public static let head = "backup.json"
  /// The member with the checksums of all others, in the form of `sha256sum`. It comes last, so that
  /// an archive that was cut off has none.
  public static let sums = "SHA256SUMS"
  /// The file of a data directory that says that its stores were moved.
  public static let note = "moved"
  /// The directory of images, whose files never change.
  public static let images = "images"
  /// The directories whose files belong to a backup.
  public static let directories = [images, "image-uploads", "sync-uploads"]
  /// The maximum size of a name in bytes, which is that of file systems.
  public static let maxBytes = 255

  /// The part that a file of the data directory has in a backup.
  public enum Role: Sendable, Hashable {
    /// A file that is copied.
    case copied
    /// A database, whose content is copied as of one moment.
    case store
    /// A file that is of no use without the process that made it.
    case ignored
    /// A file whose name no member can have.
    case leftOut
  }

  /// Returns the part of a file that is not in one of the directories.
  ///
  /// - Parameter stores: The names of the databases.
  public static func role(of name: String, stores: Set<String>) -> Role {
    if stores.contains(name) { return .store }
    if isTransient(name) || name == note { return .ignored }
    guard isName(name), name != head, name != sums, !name.hasSuffix(".sqlite") else {
      return .leftOut
    }
    return .copied
  }

  /// Whether a file is of no use without the process that made it.
  public static func isTransient(_ name: String) -> Bool {
    [".lock", "-wal", "-shm", "-journal"].contains { name.hasSuffix($0) }
      || name.hasPrefix("write-probe") || isDraft(name)
  }

  /// Whether a file is a draft of another: its name ends with a period and a random number of 128
  /// bits with the base 36.
  private static func isDraft(_ name: String) -> Bool {
    guard let period = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
    let suffix = name.utf8[name.utf8.index(after: period)...]
    return (20...25).contains(suffix.count)
      && suffix.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
  }

  /// Whether a text is the name of a file that a backup may contain: visible ASCII characters without
  /// slashes, of which the first is no period.
  public static func isName(_ text: some StringProtocol) -> Bool {
    let bytes = text.utf8
    guard (1...maxBytes).contains(bytes.count), bytes.first != UInt8(ascii: ".") else {
      return false
    }
    return bytes.allSatisfy {
      (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\")
    }
  }

  /// Whether a text is the path of a member: a name, alone or in one of the directories.
  public static func isMember(_ path: String) -> Bool {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    switch parts.count {
    case 1: return isName(path) && !directories.contains(path)
    case 2: return directories.contains(String(parts[0])) && isName(parts[1])
    case _: return false
    }
  }
}
