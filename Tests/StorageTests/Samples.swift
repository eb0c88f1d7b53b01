import HoldfastCore
import HoldfastMessageData

/// Values shared by the tests.
enum Sample {
  static let shop = shopID("123e4567-e89b-12d3-a456-426614174000")
  /// 2026-01-03T15:30:00Z.
  static let time = Timestamp(nanoseconds: 1_767_454_200_000_000_000)
  static let message = ShopMessage(
    id: UUID128(high: 0, low: 1), shop: shop, user: "uid-7", username: nil, text: "Hi",
    createdAt: time)

  private static func shopID(_ text: String) -> ShopID {
    // The literal contains only permitted characters.
    ShopID(text) ?? { preconditionFailure("no shop id: \(text)") }()
  }
}
