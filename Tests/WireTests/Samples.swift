import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit

/// Values that the tests share.
enum Sample {
  static let shop = shopID("123e4567-e89b-12d3-a456-426614174000")
  static let otherShop = shopID("123e4567-e89b-12d3-a456-426614174001")
  static let id = uuid("550e8400-e29b-41d4-a716-446655440000")
  static let parent = uuid("6ba7b810-9dad-41d1-80b4-00c04fd430c8")
  /// 2026-01-03T15:30:00Z.
  static let time = Timestamp(nanoseconds: 1_767_454_200_000_000_000)

  static let message = ShopMessage(
    id: id, shop: shop, user: "uid-7", username: "Ada", text: "Hi \"team\"\n\u{1} 🚚 שלום",
    createdAt: time, updatedAt: time.advanced(by: .milliseconds(1500)), isEdited: true,
    parent: parent, position: ShopPosition(epoch: "e1", offset: 7))

  static let messageText =
    #"{"id":"550e8400-e29b-41d4-a716-446655440000","#
    + #""shop_id":"123e4567-e89b-12d3-a456-426614174000","user_id":"uid-7","username":"Ada","#
    + #""message":"Hi \"team\"\n\u0001 🚚 שלום","created_at":"2026-01-03T15:30:00Z","#
    + #""updated_at":"2026-01-03T15:30:01.5Z","is_edited":true,"#
    + #""parent_id":"6ba7b810-9dad-41d1-80b4-00c04fd430c8","position":"e1:7"}"#

  /// The members that a plain server must send.
  static let plainMembers: [(String, String)] = [
    ("id", #""550e8400-e29b-41d4-a716-446655440000""#),
    ("shop_id", #""123e4567-e89b-12d3-a456-426614174000""#),
    ("user_id", #""uid-7""#),
    ("message", #""Hi""#),
    ("created_at", #""2026-01-03T15:30:00Z""#),
  ]
  static let plain = ShopMessage(
    id: id, shop: shop, user: "uid-7", username: nil, text: "Hi", createdAt: time)

  /// Returns the text of the plain message with some members replaced or added. A value of `nil`
  /// omits a member.
  static func plainText(_ changes: [(String, String?)] = []) -> [UInt8] {
    var members = plainMembers
    for (name, value) in changes {
      members.removeAll { $0.0 == name }
      if let value { members.append((name, value)) }
    }
    return Array("{\(members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ","))}".utf8)
  }

  private static func shopID(_ text: String) -> ShopID {
    // The literal contains only permitted characters.
    ShopID(text) ?? { preconditionFailure("no shop id: \(text)") }()
  }

  private static func uuid(_ text: String) -> UUID128 {
    // The literal has the form with 36 characters.
    UUID128(text) ?? { preconditionFailure("no UUID: \(text)") }()
  }
}

extension RandomSource {
  mutating func message() -> ShopMessage {
    let createdAt = timestamp()
    let isEdited = Bool.random(using: &self)
    let name = text(upTo: 4)
    let position = maybe { ShopPosition(epoch: "a-Z_9", offset: $0.next() >> 2) }
    let changed = maybe { _ in position }
    return ShopMessage(
      id: .random(using: &self), shop: Sample.shop, user: "u" + text(upTo: 5),
      username: name.isEmpty ? nil : name, text: text(upTo: 60), createdAt: createdAt,
      updatedAt: isEdited ? timestamp() : nil, isEdited: isEdited,
      parent: Bool.random(using: &self) ? .random(using: &self) : nil,
      position: position, changed: changed.flatMap { $0?.later(by: 1) })
  }

  mutating func deletion() -> ShopDeletion {
    let position = ShopPosition(epoch: "a-Z_9", offset: next() >> 2)
    return ShopDeletion(
      id: .random(using: &self), shop: Sample.shop, position: position,
      changed: position.later(by: one([1, 1 << 20])))
  }
}

extension ShopPosition {
  func later(by count: UInt64) -> ShopPosition {
    ShopPosition(epoch: epoch, offset: offset + count)
  }
}
