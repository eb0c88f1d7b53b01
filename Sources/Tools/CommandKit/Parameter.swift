/// One thing that a command takes, declared once for parsing, help and typed access.
public struct Parameter<Value: Sendable>: Sendable {
  /// The part that does not depend on the kind of value.
  public let declaration: Declaration
  /// Makes the value of the words given for it, in their order; `nil` for words that are none.
  let read: @Sendable ([String]) -> Value?

  /// `--name VALUE` with a value that counts when it is not given.
  public static func option(
    _ name: String, _ format: Format<Value>, default fallback: Value,
    environment: String? = nil, _ meaning: String
  ) -> Parameter {
    var declaration = Declaration(.option, .optional, name, format, meaning)
    declaration.fallback = format.write(fallback)
    declaration.environment = environment
    let read = format.read
    return Parameter(declaration: declaration) {
      $0.last.map { read($0) } ?? fallback
    }
  }

  /// `--name VALUE` that must be given.
  public static func required(
    _ name: String, _ format: Format<Value>, environment: String? = nil, _ meaning: String
  ) -> Parameter {
    var declaration = Declaration(.option, .required, name, format, meaning)
    declaration.environment = environment
    let read = format.read
    return Parameter(declaration: declaration) { $0.last.flatMap { read($0) } }
  }

  /// `--name VALUE` that may be absent; `usual` says in help what happens then.
  public static func optional<Wrapped: Sendable>(
    _ name: String, _ format: Format<Wrapped>, usual: String? = nil, environment: String? = nil,
    _ meaning: String
  ) -> Parameter where Value == Wrapped? {
    var declaration = Declaration(.option, .optional, name, format, meaning)
    declaration.fallback = usual
    declaration.environment = environment
    let read = format.read
    return Parameter(declaration: declaration) {
      guard let word = $0.last else { return .some(nil) }
      return read(word).map { .some($0) }
    }
  }

  /// `--name VALUE` any number of times.
  public static func repeated<Element: Sendable>(
    _ name: String, _ format: Format<Element>, _ meaning: String
  ) -> Parameter where Value == [Element] {
    all(Declaration(.option, .repeated(atLeast: 0), name, format, meaning), format)
  }

  /// `--name` alone: true when it is given.
  public static func flag(_ name: String, _ meaning: String) -> Parameter where Value == Bool {
    let none = Format<Bool>(placeholder: "", expectation: "") { _ in
      nil
    } write: { _ in
      ""
    }
    return Parameter(declaration: Declaration(.flag, .optional, name, none, meaning)) {
      !$0.isEmpty
    }
  }

  /// A word that stands alone and must be given; its format's placeholder names it.
  public static func operand(_ format: Format<Value>, _ meaning: String) -> Parameter {
    let declaration = Declaration(.operand, .required, format.placeholder, format, meaning)
    let read = format.read
    return Parameter(declaration: declaration) { $0.last.flatMap { read($0) } }
  }

  /// All remaining words, at least `count` of them; must be declared last.
  public static func operands<Element: Sendable>(
    atLeast count: Int, _ format: Format<Element>, _ meaning: String
  ) -> Parameter where Value == [Element] {
    let name = format.placeholder
    return all(Declaration(.operand, .repeated(atLeast: count), name, format, meaning), format)
  }

  private static func all<Element: Sendable>(
    _ declaration: Declaration, _ format: Format<Element>
  ) -> Parameter where Value == [Element] {
    let read = format.read
    return Parameter(declaration: declaration) { words in
      let values = words.compactMap { read($0) }
      return values.count == words.count ? values : nil
    }
  }
}

/// What parsing and help need to know of a parameter, without its type.
public struct Declaration: Sendable {
  /// Where it stands on the command line.
  public enum Place: Sendable, Hashable {
    case flag
    case option
    case operand
  }

  /// How often it may be given.
  public enum Count: Sendable, Hashable {
    case required
    case optional
    case repeated(atLeast: Int)
  }

  /// Without dashes.
  public let name: String
  /// Flag, option or operand.
  public let place: Place
  /// How often it may be given.
  public let count: Count
  /// One line or a few for people, without a full stop.
  public let meaning: String
  let placeholder: String
  let expectation: String
  let note: String
  let words: [String]
  let isReadable: @Sendable (String) -> Bool
  /// What counts when it is not given, as help states it.
  var fallback: String?
  /// The environment variable that stands in for it.
  var environment: String?

  init(
    _ place: Place, _ count: Count, _ name: String, _ format: Format<some Sendable>,
    _ meaning: String
  ) {
    self.place = place
    self.count = count
    self.name = name
    self.meaning = meaning
    placeholder = format.placeholder
    expectation = format.expectation
    note = format.note
    words = format.words
    let read = format.read
    isReadable = { read($0) != nil }
  }

  /// As it is written: `--port` or `NAME`.
  public var label: String { place == .operand ? name : "--\(name)" }
}
