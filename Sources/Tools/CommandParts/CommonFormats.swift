package import HoldfastCommandKit
import HoldfastCore

extension Format<UUID128> {
  /// Returns the format for a UUID. `owner` describes the identified item.
  package static func uuid(_ placeholder: String, of owner: String) -> Self {
    Format(placeholder: placeholder, expectation: "\(owner), a UUID") { UUID128($0) }
  }
}
