import HoldfastJSON
import HoldfastServerCore
import HoldfastWire

/// The file `removed.json`, which lists members who were removed from a shop that their tokens
/// still name.
///
/// The content has the form `{"removed":[{"shop":"…","user":"…"}]}`. People edit the file and send
/// SIGHUP to reload it. A missing, misspelled or repeated key is an error, because ignoring it
/// would readmit a removed member.
struct RemovalsFile {
  private let file: PrivateFile

  init(directory: String) {
    file = PrivateFile(directory: directory, name: "removed.json")
  }

  /// Returns the removed members; empty if the file does not exist.
  ///
  /// - Throws: `.file` if the file is invalid.
  func read() throws(BackendError) -> [Membership] {
    guard let content = try file.read() else { return [] }
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
