import HoldfastCore
import HoldfastLinkChecks

/// A set of named numbers that a plan fixes for a whole run, such as the network conditions.
public protocol PlanNumbers: Sendable, Hashable {
  /// Creates the default values, which files may omit.
  init()
  /// All numbers, with their names in files, their ranges, and the way in which shrinking
  /// simplifies them.
  static var fields: [PlanField<Self>] { get }
  /// The values of a good day, which are the target when shrinking simplifies.
  static var calm: Self { get }
}

extension PlanNumbers {
  /// The default values.
  public static var calm: Self { Self() }
}

/// The numbers of a feature that defines none.
public struct NoNumbers: PlanNumbers {
  public init() {}
  public static var fields: [PlanField<NoNumbers>] { [] }
}

/// The name of a field in a file, or the index of an element.
public struct FieldKey: CodingKey {
  /// The name.
  public let stringValue: String
  /// The index; `nil` for a name.
  public let intValue: Int?

  public init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
  public init(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }
}

/// A number of a plan. This declaration defines how the number is read, written and simplified.
public struct PlanField<Root: Sendable>: Sendable {
  let name: String
  let read: @Sendable (inout Root, KeyedDecodingContainer<FieldKey>, FieldKey) throws -> Void
  /// Writes the number to a file.
  public let write:
    @Sendable (Root, inout KeyedEncodingContainer<FieldKey>, FieldKey) throws -> Void
  let isSame: @Sendable (Root, Root) -> Bool
  /// Returns variants with simpler values of this number, the simplest first.
  let simpler: @Sendable (_ now: Root, _ calm: Root) -> [Root]

  /// Creates a field that holds a time span, such as `250ms`.
  public static func span(
    _ name: String, _ path: any WritableKeyPath<Root, Duration> & Sendable,
    atLeast least: Duration = .zero
  ) -> PlanField {
    make(name, path) { container, key in
      let span = try container.span(key)
      guard span >= least else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: container,
          debugDescription: "it must be at least \(least.text)")
      }
      return span
    } write: { value, container, key in
      try container.encode(value.text, forKey: key)
    }
  }

  /// Creates a field that holds a number within a range.
  public static func number<Number: Comparable & Codable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<Root, Number> & Sendable,
    _ range: ClosedRange<Number>,
    steps: [Number] = []
  ) -> PlanField {
    make(name, path, steps: { now in steps.filter { $0 < now } }) { container, key in
      try container.number(key, range)
    } write: { value, container, key in
      try container.encode(value, forKey: key)
    }
  }

  /// Creates a field that holds one of an enumeration's raw values.
  public static func choice<Choice: RawRepresentable<String> & CaseIterable & Equatable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<Root, Choice> & Sendable
  ) -> PlanField {
    make(name, path) { container, key in
      try container.choice(key)
    } write: { value, container, key in
      try container.encode(value.rawValue, forKey: key)
    }
  }

  private static func make<Value: Equatable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable,
    steps: @escaping @Sendable (Value) -> [Value] = { _ in [] },
    _ read: @escaping @Sendable (KeyedDecodingContainer<FieldKey>, FieldKey) throws -> Value,
    write:
      @escaping @Sendable (Value, inout KeyedEncodingContainer<FieldKey>, FieldKey) throws ->
      Void
  ) -> PlanField {
    PlanField(name: name) { root, container, key in
      root[keyPath: path] = try read(container, key)
    } write: { root, container, key in
      try write(root[keyPath: path], &container, key)
    } isSame: {
      $0[keyPath: path] == $1[keyPath: path]
    } simpler: { now, calm in
      let steps = steps(now[keyPath: path])
      return (steps.isEmpty ? [calm[keyPath: path]] : steps).map {
        var changed = now
        changed[keyPath: path] = $0
        return changed
      }
    }
  }
}

extension PlanNumbers {
  /// Reads the fields that are present in a container. The other fields keep the values of
  /// `init()`.
  init(from container: KeyedDecodingContainer<FieldKey>) throws {
    self.init()
    for field in Self.fields {
      let key = FieldKey(stringValue: field.name)
      if container.contains(key) { try field.read(&self, container, key) }
    }
  }

  /// Writes the fields that do not have the values of `init()`.
  func encode(to container: inout KeyedEncodingContainer<FieldKey>) throws {
    let usual = Self()
    for field in Self.fields where !field.isSame(self, usual) {
      try field.write(self, &container, FieldKey(stringValue: field.name))
    }
  }
}

extension KeyedDecodingContainer {
  /// Throws an error if a member has any other name, so that misspelled names are not ignored.
  func expect(only names: [String]) throws {
    guard let other = allKeys.first(where: { !names.contains($0.stringValue) }) else { return }
    throw DecodingError.dataCorruptedError(
      forKey: other, in: self,
      debugDescription: "there is no such member, only \(names.joined(separator: ", "))")
  }

  /// Reads a number within a range.
  public func number<Number: Comparable & Decodable>(
    _ key: Key, _ range: ClosedRange<Number>
  ) throws -> Number {
    let text = "it is no \(Number.self == Double.self ? "number" : "whole number")"
    let problem = DecodingError.dataCorruptedError(
      forKey: key, in: self,
      debugDescription: "\(text) from \(range.lowerBound) to \(range.upperBound)")
    do {
      let number = try decode(Number.self, forKey: key)
      guard range.contains(number) else { throw problem }
      return number
    } catch let error as DecodingError {
      if case .dataCorrupted = error { throw problem }
      throw error
    } catch {
      // Foundation throws a different error if a number does not fit its type.
      throw problem
    }
  }

  /// Reads one of an enumeration's raw values. For any other text, the error ends with `hint`.
  func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ key: Key, else hint: String = ""
  ) throws -> Choice {
    let text = try decode(String.self, forKey: key)
    guard let choice = Choice(rawValue: text) else {
      let names = Choice.allCases.map(\.rawValue)
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self,
        debugDescription: "\(text) is not one of \(names.joined(separator: ", "))\(hint)")
    }
    return choice
  }

  /// Reads a time span such as `250ms`.
  func span(_ key: Key) throws -> Duration {
    let text = try decode(String.self, forKey: key)
    guard let span = Duration(text: text) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self,
        debugDescription: "\(text) is not a span of \(Duration.written.text), such as 90s")
    }
    return span
  }
}
