// Tables of strings, as Foundation of Apple's platforms reads them.
import Foundation

extension Renderer {
  /// Returns the words of a text in the language of the environment.
  func resolve(_ text: Text) -> String {
    let locale = Renderer.environment.locale
    switch text.storage {
    case .verbatim(let words): return words
    case .both(let first, let second): return resolve(first) + resolve(second)
    case .date(let date, let style): return words(of: date, style, locale)
    case .key(let key, let table, let bundle):
      guard let bundle else { return fill(key.key, key, locale) }
      let strings = StringTable.read(table ?? "Localizable", locale, bundle)
      let number: Int64? = key.arguments.lazy.compactMap { argument in
        if case .int(let number) = argument { number } else { nil }
      }.first
      guard let format = strings.format(key.key, number) else {
        misuse.append("no text for “\(key.key)” in \(locale.identifier)")
        return key.key
      }
      return fill(format, key, locale)
    }
  }

  /// Returns a date or a time in UTC.
  private func words(of date: Date, _ style: Text.DateStyle, _ locale: Locale) -> String {
    let key = "\(locale.identifier) \(style.kind) \(date.timeIntervalSince1970)"
    if let known = Self.dates[key] { return known }
    var format =
      style.kind == .date
      ? Date.FormatStyle(date: .abbreviated, time: .omitted)
      : Date.FormatStyle(date: .omitted, time: .shortened)
    format = format.locale(locale)
    format.timeZone = .gmt
    let words = format.format(date)
    Self.dates[key] = words
    return words
  }

  /// The words of dates, which are slow to find.
  private static var dates: [String: String] = [:]

  /// Replaces the specifiers of a format by the arguments of a key, in their order or by position.
  private func fill(_ format: String, _ key: LocalizedStringKey, _ locale: Locale) -> String {
    let words = key.arguments.map { argument in
      switch argument {
      case .int(let number): number.formatted(.number.locale(locale))
      case .string(let text): text
      case .text(let text): resolve(text)
      }
    }
    var next = 0
    return format.replacing(#/%(?:(\d+)\$)?(lld|@|%)/#) { match in
      if match.2 == "%" { return "%" }
      let index = match.1.flatMap { Int($0) }.map { $0 - 1 } ?? next
      next += 1
      guard words.indices.contains(index) else {
        misuse.append("“\(key.key)” has too few arguments for “\(format)”")
        return ""
      }
      return words[index]
    }
  }
}

/// The strings of one language.
@_spi(Script) public struct StringTable: Sendable {
  /// The formats of keys without plural forms.
  public var plain: [String: String] = [:]
  /// The formats of keys with plural forms, by category.
  public var plural: [String: [String: String]] = [:]

  public var keys: Set<String> { Set(plain.keys).union(plural.keys) }

  func format(_ key: String, _ number: Int64?) -> String? {
    guard let forms = plural[key] else { return plain[key] }
    // The categories of English and German.
    return forms[number == 1 ? "one" : "other"] ?? forms["other"]
  }

  @MainActor private static var known: [URL: StringTable] = [:]

  /// Reads the tables of a bundle for a language, or for English if the bundle lacks the language.
  @MainActor public static func read(_ name: String, _ locale: Locale, _ bundle: Bundle)
    -> StringTable
  {
    let wanted = locale.language.languageCode?.identifier ?? "en"
    for language in [wanted, "en"] {
      let folder = bundle.bundleURL.appending(path: "\(language).lproj")
      guard FileManager.default.fileExists(atPath: folder.path) else { continue }
      let file = folder.appending(path: name)
      let table = known[file] ?? StringTable(folder, name)
      known[file] = table
      return table
    }
    return StringTable()
  }

  private init() {}

  private init(_ folder: URL, _ name: String) {
    if let text = try? String(
      contentsOf: folder.appending(path: "\(name).strings"), encoding: .utf8)
    {
      for match in text.matches(of: #/(?m)^"((?:[^"\\]|\\.)*)" = "((?:[^"\\]|\\.)*)";$/#) {
        plain[Self.unescaped(match.1)] = Self.unescaped(match.2)
      }
    }
    let forms = folder.appending(path: "\(name).stringsdict")
    guard let data = try? Data(contentsOf: forms),
      let list = try? PropertyListSerialization.propertyList(from: data, format: nil),
      let keys = list as? [String: [String: Any]]
    else { return }
    for (key, value) in keys {
      guard let variable = value.values.compactMap({ $0 as? [String: String] }).first else {
        continue
      }
      plural[key] = variable.filter { !$0.key.hasPrefix("NSString") }
    }
  }

  private static func unescaped(_ text: Substring) -> String {
    String(text).replacing("\\n", with: "\n").replacing("\\\"", with: "\"").replacing(
      "\\\\", with: "\\")
  }
}
