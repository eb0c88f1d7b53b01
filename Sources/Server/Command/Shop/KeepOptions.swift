import HoldfastBackend
import HoldfastCommandKit
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer

/// The options of `serve` that limit how long messages are kept, and how much room they take.
enum KeepOptions {
  static let all: [Assignment<BackendConfiguration>] = [
    .init(
      .repeated(
        "keep-messages", .age,
        "remove messages whose newest edit is older than this, such as 30d; with SHOP=30d or "
          + "SHOP=all for one shop; the default keeps all")
    ) { $0.retention.age = PerShop($1) },
    .init(
      .repeated(
        "keep-bytes", .size,
        "remove the oldest messages of a shop that has more than this, such as 100MB, and each of "
          + "which counts with its text, its author's names and 256 bytes; with SHOP=100MB or "
          + "SHOP=all for one shop; the default keeps all")
    ) { $0.retention.bytes = PerShop($1) },
  ]
}

/// A limit for all shops or for one.
struct KeptPart<Value: Sendable & Hashable>: Sendable, Hashable {
  /// The shop; `nil` for all that have no limit of their own.
  var shop: ShopID?
  /// The limit; `nil` for none.
  var limit: Value?

  /// Parses `LIMIT`, `SHOP=LIMIT`, `all` or `SHOP=all`.
  init?(_ text: String, _ read: (Substring) -> Value?) {
    var value = text[...]
    if let sign = text.lastIndex(of: "=") {
      guard let name = ShopID(String(text[..<sign])) else { return nil }
      (shop, value) = (name, text[text.index(after: sign)...])
    }
    guard value != "all" else { return }
    guard let found = read(value) else { return nil }
    limit = found
  }
}

extension PerShop {
  /// Creates a setting from options, of which the last one counts.
  fileprivate init(_ parts: [KeptPart<Value>]) {
    self.init()
    for part in parts {
      if let shop = part.shop {
        shops.updateValue(part.limit, forKey: shop)
      } else {
        usual = part.limit
      }
    }
  }
}

extension Format<KeptPart<Duration>> {
  private static let range = Duration.seconds(1) ... .seconds(36_500 * 86_400)

  /// The format for the age of messages.
  fileprivate static let age = Format(
    placeholder: "[SHOP=]DURATION",
    expectation:
      "a duration from 1s to 36500d, such as 12h or 30d, or all; before it SHOP= for one "
      + "shop"
  ) { text in
    KeptPart(text) { value in
      let days = value.hasSuffix("d") ? Int64(value.dropLast()) : nil
      let plain = value.allSatisfy { $0.isASCII && $0.isNumber || $0 == "." }
      let age =
        days.flatMap { (0...36_500).contains($0) ? .seconds($0 * 86_400) : nil }
        ?? Duration(text: plain ? value + "s" : value)
      return age.flatMap { range.contains($0) ? $0 : nil }
    }
  }
}

extension Format<KeptPart<UInt64>> {
  private static let range: ClosedRange<UInt64> = 65_536...1_000_000_000_000_000

  /// The format for the size of a shop's messages.
  fileprivate static let size = Format(
    placeholder: "[SHOP=]SIZE",
    expectation:
      "a size from 64KiB to 1000TB, such as 100MB or 2GiB, or all; before it SHOP= for one "
      + "shop"
  ) { text in
    KeptPart(text) { value in
      let units: [(String, UInt64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("KB", 1_000),
        ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("", 1),
      ]
      for (name, scale) in units where value.hasSuffix(name) {
        guard value.dropLast(name.count).allSatisfy({ $0.isASCII && $0.isNumber }),
          let number = UInt64(value.dropLast(name.count))
        else { return nil }
        let (size, overflow) = number.multipliedReportingOverflow(by: scale)
        return !overflow && range.contains(size) ? size : nil
      }
      return nil
    }
  }
}
