public import LinkCore
public import LinkWire

extension StreamModel: Journaled {
  public static var journalName: String { "message-stream" }

  /// The shop and the policy of a stream; its other settings are their defaults.
  public struct Birth: Codable, Sendable, Hashable {
    var policy: LinkPolicy
    var extra: Extra

    struct Extra: Codable, Hashable {
      var shop: ShopID
    }

    public init(shop: ShopID, policy: LinkPolicy) {
      self.policy = policy
      extra = Extra(shop: shop)
    }
  }

  public init(_ birth: Birth, seed: UInt64) {
    self.init(
      settings: StreamSettings(shop: birth.extra.shop, policy: birth.policy), seed: seed)
  }
}
