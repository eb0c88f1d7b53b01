import LinkCore

/// How values of one kind are written on a command line.
public struct Format<Value: Sendable>: Sendable {
  /// What stands for such a value in help texts, in capitals.
  public var placeholder: String
  /// What a value must be, for errors: "a whole number from 0 to 65535".
  public var expectation: String
  /// One line under a help text that explains the placeholder; empty for none.
  public var note: String
  /// The only values there are, for spelling; empty where they cannot be listed.
  public var words: [String]
  let read: @Sendable (String) -> Value?
  let write: @Sendable (Value) -> String

  /// A format; `read` answers `nil` for what is no such value, `write` serves the defaults in help.
  public init(
    placeholder: String, expectation: String, note: String = "", words: [String] = [],
    read: @escaping @Sendable (String) -> Value?, write: @escaping @Sendable (Value) -> String
  ) {
    self.placeholder = placeholder
    self.expectation = expectation
    self.note = note
    self.words = words
    self.read = read
    self.write = write
  }
}

extension Format<String> {
  /// Any text but none.
  public static func text(_ placeholder: String) -> Self {
    Format(placeholder: placeholder, expectation: "a text that is not empty") {
      $0.isEmpty ? nil : $0
    } write: {
      $0
    }
  }
}

extension Format<Int> {
  /// A whole number within `range`.
  public static func integer(_ placeholder: String, _ range: ClosedRange<Int>) -> Self {
    let bounds = "from \(range.lowerBound) to \(range.upperBound)"
    return Format(placeholder: placeholder, expectation: "a whole number \(bounds)") {
      Int($0).flatMap { range.contains($0) ? $0 : nil }
    } write: {
      String($0)
    }
  }
}

extension Format<UInt16> {
  /// A TCP port; 0 where the kernel may pick one.
  public static let port = Format(
    placeholder: "PORT", expectation: "a whole number from 0 to 65535"
  ) {
    UInt16($0)
  } write: {
    String($0)
  }
}

extension Format<Duration> {
  /// A duration within `range`; a plain number counts seconds.
  public static func duration(_ range: ClosedRange<Duration>) -> Self {
    let bounds = "from \(range.lowerBound.text) to \(range.upperBound.text)"
    return Format(
      placeholder: "DURATION", expectation: "a duration \(bounds), such as 90s or 15m",
      note: "DURATION is a number with ms, s, m or h; without a unit it counts seconds."
    ) {
      let plain = $0.allSatisfy { $0.isASCII && $0.isNumber || $0 == "." }
      let value = Duration(text: plain ? $0 + "s" : $0)
      return value.flatMap { range.contains($0) ? $0 : nil }
    } write: {
      $0.text
    }
  }
}

extension Format<Setting> {
  /// A key and its new value with `=` between.
  public static let setting = Format(
    placeholder: "KEY=VALUE", expectation: "a key, =, and a value"
  ) {
    guard let split = $0.firstIndex(of: "="), split != $0.startIndex else { return nil }
    return Setting(key: String($0[..<split]), value: String($0[$0.index(after: split)...]))
  } write: {
    "\($0.key)=\($0.value)"
  }
}

/// A number of a policy as `--set` changes it.
public struct Setting: Sendable, Hashable {
  /// Such as `retry.first`.
  public var key: String
  /// Such as `1s,2s,4s`.
  public var value: String

  /// A key with its value; nothing is checked.
  public init(key: String, value: String) {
    self.key = key
    self.value = value
  }
}

extension Format {
  /// Several such values with commas between; at least one.
  public func list() -> Format<[Value]> {
    let (read, write) = (self.read, self.write)
    return Format<[Value]>(
      placeholder: "\(placeholder),...", expectation: "a list with commas of \(expectation)",
      note: note
    ) {
      let parts = $0.split(separator: ",", omittingEmptySubsequences: false)
      let values = parts.compactMap { read(String($0)) }
      return values.count == parts.count ? values : nil
    } write: {
      $0.map(write).joined(separator: ",")
    }
  }
}
