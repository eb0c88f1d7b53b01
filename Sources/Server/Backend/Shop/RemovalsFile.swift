import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageServer

/// The file `removed.json`, which lists members who were removed from a shop that their tokens
/// still name.
///
/// The content has the form `{"removed":[{"shop":"…","user":"…"}]}`. People edit the file and send
/// SIGHUP to reload it. A missing, misspelled or repeated key is an error, because ignoring it
/// would readmit a removed member.
struct RemovalsFile {
  private let file: PrivateFile

  init(directory: String, name: String = "removed.json") {
    file = PrivateFile(directory: directory, name: name)
  }

  /// Returns the removed members; empty if the file does not exist.
  ///
  /// - Throws: `.file` if the file is invalid.
  func read() throws(BackendError) -> [Membership] { try readIfExists() ?? [] }

  /// Returns the removed members; `nil` if the file does not exist.
  ///
  /// - Throws: `.file` if the file is invalid.
  func readIfExists() throws(BackendError) -> [Membership]? {
    guard let content = try file.read() else { return nil }
    do {
      return try Self.decode(content)
    } catch {
      throw .file(path: file.path, detail: "\(error.detail) at byte \(error.offset)")
    }
  }

  func write(_ removed: [Membership]) throws(BackendError) {
    try file.replace(with: Self.encode(removed))
  }

  static func decode(_ content: [UInt8]) throws(JSONError) -> [Membership] {
    var reader = JSONReader(content)
    var removed: [Membership]?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      guard reader.text(of: key) == "removed", removed == nil else {
        throw JSONError("a key other than a single \"removed\"", at: reader.position)
      }
      var list: [Membership] = []
      try reader.beginArray()
      while try reader.nextElement() { list.append(try membership(from: &reader)) }
      removed = list
    }
    try reader.finish()
    guard let removed else { throw JSONError("no key \"removed\"", at: reader.position) }
    return removed
  }

  private static func membership(from reader: inout JSONReader) throws(JSONError) -> Membership {
    var shop: ShopID?
    var user: String?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "shop" where shop == nil: shop = ShopID(try reader.string())
      case "user" where user == nil: user = try reader.string()
      case _:
        throw JSONError("a key other than a single \"shop\" and \"user\"", at: reader.position)
      }
    }
    guard let shop, let user else {
      throw JSONError("an entry without a valid shop and user", at: reader.position)
    }
    return Membership(shop: shop, user: user)
  }

  static func encode(_ removed: [Membership]) -> [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.array("removed") {
        for membership in removed {
          $0.object {
            $0.entry("shop", membership.shop.text)
            $0.entry("user", membership.user)
          }
        }
      }
    }
    return writer.bytes
  }
}

/// The file `removed.json` of a node, whose list all nodes share.
///
/// The file `removed-shared.json` is the list of all nodes that this one has adopted last. What differs
/// between the two files was changed here, and the other nodes have not learned of it yet.
struct SharedRemovals {
  private let own: RemovalsFile
  private let shared: RemovalsFile

  init(directory: String) {
    own = RemovalsFile(directory: directory)
    shared = RemovalsFile(directory: directory, name: "removed-shared.json")
  }

  /// Returns what was changed here. A missing file is no change, so that its loss readmits nobody.
  ///
  /// - Throws: `.file` if a file is invalid.
  func change() throws(BackendError) -> RemovalsChange {
    let former = Set(try shared.read())
    let list = try own.readIfExists().map { Set($0) } ?? former
    return RemovalsChange(
      list: list, removed: list.subtracting(former), readmitted: former.subtracting(list))
  }

  /// Writes the list of this node after a change.
  func write(_ change: RemovalsChange) throws(BackendError) {
    try own.write(change.list.sorted())
  }

  /// Whether a list of all nodes was adopted last.
  func hasAdopted(_ list: Set<Membership>) -> Bool {
    (try? shared.readIfExists()).flatMap { $0 }.map { Set($0) } == list
  }

  /// Adopts a list of all nodes, and keeps what was changed here.
  func adopt(_ list: Set<Membership>, with change: RemovalsChange) throws(BackendError) {
    let changed = change.applied(to: list)
    if try own.readIfExists().map({ Set($0) }) != changed { try own.write(changed.sorted()) }
    if !hasAdopted(list) { try shared.write(list.sorted()) }
  }
}

/// A change of the list of removed members at one node.
struct RemovalsChange: Sendable {
  /// The list of the node after the change.
  var list: Set<Membership>
  var removed: Set<Membership>
  var readmitted: Set<Membership>

  /// Removes or readmits a member, also if this node has not learned yet of the opposite.
  mutating func set(_ member: Membership, isRemoved: Bool) {
    if isRemoved {
      list.insert(member)
      readmitted.remove(member)
      removed.insert(member)
    } else {
      list.remove(member)
      removed.remove(member)
      readmitted.insert(member)
    }
  }

  func applied(to list: Set<Membership>) -> Set<Membership> {
    list.subtracting(readmitted).union(removed)
  }

  /// Returns the new list of all nodes for the stored one; `nil` if they are the same.
  func applied(to content: [UInt8]?) -> [UInt8]? {
    guard let content else { return list.isEmpty ? nil : RemovalsFile.encode(list.sorted()) }
    guard let former = (try? RemovalsFile.decode(content)).map({ Set($0) }) else { return nil }
    let list = applied(to: former)
    return list == former ? nil : RemovalsFile.encode(list.sorted())
  }
}
