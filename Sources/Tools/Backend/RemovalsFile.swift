import LinkServerCore
import LinkWire

/// The members who were removed while their tokens still name the shop: `removed.json`.
///
/// `{"removed":[{"shop":"…","user":"…"}]}`; people edit it and have it read again by SIGHUP.
struct RemovalsFile {
  private let file: PrivateFile

  init(directory: String) {
    file = PrivateFile(directory: directory, name: "removed.json")
  }

  /// The list; empty when there is no file. Throws `.file` when it is no such list.
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
    var removed: [Membership] = []
    try reader.beginObject()
    while let key = try reader.nextKey() {
      guard reader.text(of: key) == "removed" else {
        try reader.skipValue()
        continue
      }
      try reader.beginArray()
      while try reader.nextElement() { removed.append(try membership(from: &reader)) }
    }
    try reader.finish()
    return removed
  }

  private static func membership(from reader: inout JSONReader) throws(JSONError) -> Membership {
    var shop: ShopID?
    var user: String?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "shop": shop = ShopID(try reader.string())
      case "user": user = try reader.string()
      case _: try reader.skipValue()
      }
    }
    guard let shop, let user else { throw JSONError("an entry without shop and user", at: 0) }
    return Membership(shop: shop, user: user)
  }

  static func encode(_ removed: [Membership]) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("removed")
    writer.beginArray()
    for membership in removed {
      writer.beginObject()
      writer.key("shop")
      writer.string(membership.shop.text)
      writer.key("user")
      writer.string(membership.user)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }
}
