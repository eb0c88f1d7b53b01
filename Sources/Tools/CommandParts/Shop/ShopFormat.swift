package import HoldfastCommandKit
package import HoldfastMessageData

extension Format<ShopID> {
  /// The format for a shop's ID.
  package static let shop = Format(
    placeholder: "SHOP", expectation: "1 to 128 letters, digits, dots, dashes or underscores"
  ) {
    ShopID($0)
  }
}
