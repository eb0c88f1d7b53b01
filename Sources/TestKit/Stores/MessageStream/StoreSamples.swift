import LinkCore
import LinkWire

/// Values for the contract suites.
enum StoreSamples {
  static func shop(_ name: String) throws(ContractViolation) -> ShopID {
    guard let shop = ShopID(name) else { throw ContractViolation("\(name) is no shop id") }
    return shop
  }

  static func id(_ number: UInt64) -> UUID128 {
    UUID128(high: 0xF000_0000_0000_4000, low: 0x8000_0000_0000_0000 | number)
  }

  /// Every field is set, so that a store that forgets one is found out.
  static func message(_ number: UInt64, in shop: ShopID, at nanoseconds: Int64) -> Message {
    Message(
      id: id(number), shop: shop, user: "user-\(number % 3)", username: "Ödön \(number)",
      text: "text \(number) \u{0} 🪢 '\"\\", createdAt: Timestamp(nanoseconds: nanoseconds),
      updatedAt: Timestamp(nanoseconds: nanoseconds), isEdited: number.isMultiple(of: 2),
      parent: number > 1 ? id(number - 1) : nil,
      position: Position(epoch: "e-1", offset: .max - number))
  }

  /// Every field that may be missing is.
  static func bare(_ number: UInt64, in shop: ShopID, at nanoseconds: Int64) -> Message {
    Message(
      id: id(number), shop: shop, user: "", username: nil, text: "",
      createdAt: Timestamp(nanoseconds: nanoseconds))
  }

  static func entry(_ number: UInt64, in shop: ShopID) -> OutboxEntry {
    OutboxEntry(
      id: id(number), shop: shop, text: "out \(number)", parent: number > 1 ? id(1) : nil,
      createdAt: Timestamp(nanoseconds: 7), state: .queued(tries: Int(number)))
  }
}
