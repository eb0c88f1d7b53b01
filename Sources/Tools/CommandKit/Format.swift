import HoldfastCore

/// A format for values of one type on a command line.
public struct Format<Value: Sendable>: Sendable {
  /// The placeholder for a value in help texts, in capitals.
  public var placeholder: String
  /// The description of a valid value in errors, such as "a whole number from 0 to 65535".
  public var expectation: String
  /// An explanation of the placeholder at the end of a help text; empty if there is none.
  public var note: String
  /// All valid values, for suggestions; empty if they cannot be listed.
  public var choices: [String]
  let read: @Sendable (String) -> Value?
  let write: @Sendable (Value) -> String

  /// Creates a format.
  ///
  /// - Parameters:
  ///   - read: A function that returns the value of a text, or `nil` if the text is invalid.
  ///   - write: A function that returns the text of a default value for help texts.
  public init(
    placeholder: String, expectation: String, note: String = "", choices: [String] = [],
    read: @escaping @Sendable (String) -> Value?,
    write: @escaping @Sendable (Value) -> String = { "\($0)" }
  ) {
    self.placeholder = placeholder
    self.expectation = expectation
    self.note = note
    self.choices = choices
    self.read = read
    self.write = write
  }
}

extension Format where Value: CaseIterable & RawRepresentable<String> {
  /// The format for the cases of an enumeration, named by their raw values.
  public static var choice: Self {
    let names = Value.allCases.map(\.rawValue)
    return Format(names.joined(separator: "|"), expectation: names.joined(separator: " or "))
  }

  /// Returns the format for the cases of an enumeration, with a placeholder in capitals.
  ///
  /// - Parameter note: The explanation of the placeholder, or an empty string for no explanation.
  ///   If it is `nil`, the explanation lists the cases.
  public static func choice(_ placeholder: String, note: String? = nil) -> Self {
    let expectation = "one of " + Value.allCases.map(\.rawValue).joined(separator: ", ")
    return Format(
      placeholder, expectation: expectation, note: note ?? "\(placeholder) is \(expectation).")
  }

  init(_ placeholder: String, expectation: String, note: String = "") {
    self.init(
      placeholder: placeholder, expectation: expectation, note: note,
      choices: Value.allCases.map(\.rawValue), read: { Value(rawValue: $0) }, write: \.rawValue)
  }
}

extension Format<String> {
  /// Returns the format for a fixed set of strings.
  public static func choice(_ placeholder: String, of choices: [String]) -> Self {
    Format(
      placeholder: placeholder, expectation: "one of " + choices.joined(separator: ", "),
      choices: choices
    ) {
      choices.contains($0) ? $0 : nil
    }
  }

  /// Returns the format for any nonempty text.
  public static func text(_ placeholder: String) -> Self {
    Format(placeholder: placeholder, expectation: "a text that is not empty") {
      $0.isEmpty ? nil : $0
    }
  }
}

extension Format<Int> {
  /// Returns the format for a whole number within `range`.
  public static func integer(_ placeholder: String, _ range: ClosedRange<Int>) -> Self {
    let bounds = "from \(range.lowerBound) to \(range.upperBound)"
    return Format(placeholder: placeholder, expectation: "a whole number \(bounds)") {
      Int($0).flatMap { range.contains($0) ? $0 : nil }
    }
  }
}

extension Format<UInt16> {
  /// The format for a TCP port. If the port is 0, the kernel chooses one.
  public static let port = Format(
    placeholder: "PORT", expectation: "a whole number from 0 to 65535"
  ) {
    UInt16($0)
  }
}

extension Format<Duration> {
  /// Returns the format for a duration within `range`. A number without a unit is in seconds.
  public static func duration(
    _ range: ClosedRange<Duration>, inWholeSeconds isWhole: Bool = false
  ) -> Self {
    let unit = isWhole ? "in whole seconds " : ""
    let bounds = "\(unit)from \(range.lowerBound.text) to \(range.upperBound.text)"
    return Format(
      placeholder: "DURATION", expectation: "a duration \(bounds), such as 90s or 15m",
      note: "DURATION is a number with the unit ms, s, m or h; without a unit, seconds."
    ) {
      let plain = $0.allSatisfy { $0.isASCII && $0.isNumber || $0 == "." }
      let value = Duration(text: plain ? $0 + "s" : $0)
      return value.flatMap {
        range.contains($0) && (!isWhole || $0.components.attoseconds == 0) ? $0 : nil
      }
    } write: {
      $0.text
    }
  }
}

extension Format<Setting> {
  /// The format for a key, `=` and a value.
  public static let setting = Format(
    placeholder: "KEY=VALUE", expectation: "a key, = and a value"
  ) {
    guard let split = $0.firstIndex(of: "="), split != $0.startIndex else { return nil }
    return Setting(key: String($0[..<split]), value: String($0[$0.index(after: split)...]))
  } write: {
    "\($0.key)=\($0.value)"
  }
}

/// A change to one value of a policy, as given by `--set`.
public struct Setting: Sendable, Hashable {
  /// The key, such as `retry.first`.
  public var key: String
  /// The value, such as `1s,2s,4s`.
  public var value: String

  /// Creates a setting without checking the key or the value.
  public init(key: String, value: String) {
    self.key = key
    self.value = value
  }
}

extension Format {
  /// Returns the format for one or more values, separated by commas.
  public func list() -> Format<[Value]> {
    let (read, write) = (self.read, self.write)
    return Format<[Value]>(
      placeholder: "\(placeholder),...", expectation: "a comma-separated list of \(expectation)",
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
