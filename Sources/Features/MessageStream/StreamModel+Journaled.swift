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
      /// `nil` in journals of versions that always fetched.
      var sendsOnly: Bool?
    }

    public init(shop: ShopID, policy: LinkPolicy, sendsOnly: Bool = false) {
      self.policy = policy
      extra = Extra(shop: shop, sendsOnly: sendsOnly ? true : nil)
    }
  }

  public init(_ birth: Birth, seed: UInt64) {
    var settings = StreamSettings(shop: birth.extra.shop, policy: birth.policy)
    settings.sendsOnly = birth.extra.sendsOnly ?? false
    self.init(settings: settings, seed: seed)
  }
}
