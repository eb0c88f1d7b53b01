package import HoldfastCommandKit
import HoldfastCore
package import HoldfastMessageData

extension Format<ShopID> {
  /// The format for a shop's ID.
  package static let shop = Format(
    placeholder: "SHOP", expectation: "1 to 128 letters, digits, dots, dashes or underscores"
  ) {
    ShopID($0)
  }
}

extension Format<UUID128> {
  /// Returns the format for a UUID. `owner` describes the identified item.
  package static func uuid(_ placeholder: String, of owner: String) -> Self {
    Format(placeholder: placeholder, expectation: "\(owner), a UUID") { UUID128($0) }
  }
}
