// Texts, images and labels.

/// A key of a table of strings, with the arguments of its text.
public struct LocalizedStringKey: Equatable, ExpressibleByStringInterpolation {
  enum Argument: Equatable {
    case int(Int64)
    case string(String)
    case text(Text)
  }
  let key: String
  let arguments: [Argument]

  public init(_ value: String) { (key, arguments) = (value, []) }
  public init(stringLiteral value: String) { self.init(value) }
  public init(stringInterpolation: StringInterpolation) {
    (key, arguments) = (stringInterpolation.key, stringInterpolation.arguments)
  }

  public struct StringInterpolation: StringInterpolationProtocol {
    var key = ""
    var arguments: [Argument] = []

    public init(literalCapacity: Int, interpolationCount: Int) {}
    public mutating func appendLiteral(_ literal: String) {
      key += literal.split(separator: "%", omittingEmptySubsequences: false).joined(
        separator: "%%")
    }
    public mutating func appendInterpolation(_ string: String) {
      key += "%@"
      arguments.append(.string(string))
    }
    public mutating func appendInterpolation(_ text: Text) {
      key += "%@"
      arguments.append(.text(text))
    }
    public mutating func appendInterpolation<T>(_ value: T) where T: _FormatSpecifiable {
      key += value._specifier
      arguments.append(.int(Int64(value._arg)))
    }
  }
}

public protocol _FormatSpecifiable: Equatable {
  associatedtype _Arg: BinaryInteger
  var _arg: _Arg { get }
  var _specifier: String { get }
}

extension Int: _FormatSpecifiable {
  public var _arg: Int64 { Int64(self) }
  public var _specifier: String { "%lld" }
}

public struct Text: Equatable, Sendable {
  public struct DateStyle: Sendable, Equatable {
    enum Kind: Sendable { case time, date, relative, offset, timer }
    let kind: Kind
    public static let time = DateStyle(kind: .time)
    public static let date = DateStyle(kind: .date)
    public static let relative = DateStyle(kind: .relative)
    public static let offset = DateStyle(kind: .offset)
    public static let timer = DateStyle(kind: .timer)
  }

  enum Storage: Equatable, @unchecked Sendable {
    case verbatim(String)
    case key(LocalizedStringKey, table: String?, bundle: Bundle?)
    case date(Date, DateStyle)
    indirect case both(Text, Text)
  }
  let storage: Storage

  nonisolated init(_ storage: Storage) { self.storage = storage }
  nonisolated public init(verbatim content: String) { storage = .verbatim(content) }
  @_disfavoredOverload nonisolated public init<S>(_ content: S) where S: StringProtocol {
    storage = .verbatim(String(content))
  }
  nonisolated public init(
    _ key: LocalizedStringKey, tableName: String? = nil, bundle: Bundle? = nil,
    comment: StaticString? = nil
  ) {
    storage = .key(key, table: tableName, bundle: bundle)
  }
  nonisolated public init(_ date: Date, style: DateStyle) { storage = .date(date, style) }

  nonisolated public func font(_ font: Font?) -> Text { self }
  nonisolated public func bold() -> Text { self }
  nonisolated public func italic() -> Text { self }
  nonisolated public func monospacedDigit() -> Text { self }
  nonisolated public func foregroundStyle<S>(_ style: S) -> Text where S: ShapeStyle { self }
  nonisolated public static func + (lhs: Text, rhs: Text) -> Text { Text(.both(lhs, rhs)) }

  public enum Case: Sendable { case uppercase, lowercase }
}

extension Text: View, Primitive {
  public typealias Body = Never
  func show(in renderer: Renderer) { renderer.add(text: self) }
}

public struct Image: Equatable, Sendable {
  let name: String
  let isDecorative: Bool
  nonisolated public init(systemName: String) { (name, isDecorative) = (systemName, false) }
  nonisolated public init(decorative name: String, bundle: Bundle? = nil) {
    (self.name, isDecorative) = (name, true)
  }
  public enum Scale: Hashable, Sendable { case small, medium, large }
}

extension Image: View, Primitive {
  public typealias Body = Never
  func show(in renderer: Renderer) { renderer.add(image: self) }
}

public struct Label<Title, Icon> where Title: View, Icon: View {
  let title: Title
  let icon: Icon
  nonisolated public init(@ViewBuilder title: () -> Title, @ViewBuilder icon: () -> Icon) {
    (self.title, self.icon) = (title(), icon())
  }
  @MainActor func show(in renderer: Renderer) { renderer.showLabel(title, icon: icon) }
}

extension Label: View, Primitive {
  public typealias Body = Never
}

extension Label where Title == Text, Icon == Image {
  nonisolated public init(_ titleKey: LocalizedStringKey, systemImage name: String) {
    (title, icon) = (Text(titleKey), Image(systemName: name))
  }
}

public struct Font: Hashable, Sendable {
  let name: String
  public static let largeTitle = Font(name: "largeTitle")
  public static let title = Font(name: "title")
  public static let title2 = Font(name: "title2")
  public static let title3 = Font(name: "title3")
  public static let headline = Font(name: "headline")
  public static let subheadline = Font(name: "subheadline")
  public static let body = Font(name: "body")
  public static let callout = Font(name: "callout")
  public static let footnote = Font(name: "footnote")
  public static let caption = Font(name: "caption")
  public static let caption2 = Font(name: "caption2")
  public func weight(_ weight: Weight) -> Font { self }
  public func bold() -> Font { self }
  public func monospaced() -> Font { self }
  public func monospacedDigit() -> Font { self }

  public struct Weight: Hashable, Sendable {
    let value: Int
    public static let regular = Weight(value: 400)
    public static let medium = Weight(value: 500)
    public static let semibold = Weight(value: 600)
    public static let bold = Weight(value: 700)
  }
}
