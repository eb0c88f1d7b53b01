import HoldfastCore

/// The checksums of the members of a backup, in the order of the archive.
///
/// The encoded form is that of `sha256sum`: a line for each member, with 64 hexadecimal digits, two
/// spaces and the path.
public struct BackupSums: Sendable, Hashable {
  /// The maximum number of members.
  public static let mostMembers = 10_000_000
  /// The number of bytes of a checksum.
  public static let sumBytes = 32

  /// The encoded form.
  public private(set) var content: [UInt8] = []
  /// The paths of the members.
  private var members: Set<String> = []

  /// The number of members.
  public var count: Int { members.count }

  /// Creates an empty list.
  public init() {}

  /// Checks the path of a member before it is added.
  ///
  /// - Throws: `.unsafe`, `.twice`, or `.tooMany`.
  public func check(_ path: String, atMost most: Int = mostMembers) throws(BackupFault) {
    guard BackupNames.isMember(path), path != BackupNames.sums else {
      throw .unsafe(member: path)
    }
    guard !members.contains(path) else { throw .twice(member: path) }
    guard members.count < most else { throw .tooMany(limit: most) }
  }

  /// Adds the checksum of a member, whose path was checked.
  public mutating func add(_ sum: [UInt8], of path: String) {
    members.insert(path)
    content += Array("\(Hex.text(of: sum))  \(path)\n".utf8)
  }

  /// Returns whether a member was added.
  public func contains(_ path: String) -> Bool { members.contains(path) }

  /// Compares the checksums of what was read with the list of the archive.
  ///
  /// - Throws: `.damaged`, `.missing` or `.extra` with the first member that differs, or `.cut` if
  ///   the list is not valid.
  public func compare(with list: [UInt8]) throws(BackupFault) {
    // Almost always they are the same, and none of the lines is looked at.
    guard list != content else { return }
    let listed = try Self.read(list)
    let found = try Self.read(content)
    if let path = listed.filter({ found[$0.key] != $0.value }).keys.min() {
      throw found[path] == nil ? .missing(member: path) : .damaged(member: path)
    }
    if let extra = found.keys.filter({ listed[$0] == nil }).min() { throw .extra(member: extra) }
    throw .cut(reason: "\(BackupNames.sums) has another order")
  }

  /// Returns the checksums of a list by path.
  ///
  /// - Throws: `.cut` if it is not valid, `.unsafe` or `.twice`.
  static func read(_ list: [UInt8]) throws(BackupFault) -> [String: ArraySlice<UInt8>] {
    var sums: [String: ArraySlice<UInt8>] = [:]
    var rest = list[...]
    while !rest.isEmpty {
      guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { throw invalid(sums.count) }
      let line = rest[..<end]
      rest = rest[(end + 1)...]
      let (sum, gap) = (line.prefix(2 * sumBytes), line.dropFirst(2 * sumBytes).prefix(2))
      let isSum = sum.count == 2 * sumBytes && sum.allSatisfy { Hex.value(of: $0) != nil }
      guard isSum, gap.elementsEqual("  ".utf8) else { throw invalid(sums.count) }
      let path = String(decoding: line.dropFirst(2 * sumBytes + 2), as: UTF8.self)
      guard BackupNames.isMember(path) else { throw .unsafe(member: path) }
      guard sums.updateValue(sum, forKey: path) == nil else { throw .twice(member: path) }
    }
    return sums
  }

  private static func invalid(_ lines: Int) -> BackupFault {
    .cut(reason: "line \(lines + 1) of \(BackupNames.sums) is not valid")
  }
}
