import Foundation

#if canImport(SwiftUI)
  import SwiftUI
#endif

/// A text of a screen: a key of this module's table of strings, and the arguments of its text.
///
/// The arguments are part of the key in the table, as in `messages.rejected %lld`.
struct Phrase: Sendable, Hashable {
  /// An argument of a text.
  enum Argument: Sendable, Hashable {
    /// A number, which may decide between singular and plural.
    case number(Int)
    /// A text that needs no translation, such as a name.
    case text(String)
  }

  let key: String
  let arguments: [Argument]

  init(_ key: String) { (self.key, arguments) = (key, []) }

  init(_ key: String, _ number: Int) { (self.key, arguments) = (key, [.number(number)]) }

  init(_ key: String, _ text: String) { (self.key, arguments) = (key, [.text(text)]) }

  /// The key in the table of strings.
  var tableKey: String {
    arguments.reduce(key) { key, argument in
      switch argument {
      case .number: key + " %lld"
      case .text: key + " %@"
      }
    }
  }
}

#if canImport(SwiftUI)
  extension Text {
    /// Creates a text in the language of the environment.
    init(_ phrase: Phrase) { self.init(LocalizedStringKey(phrase), bundle: .screens) }
  }

  extension LocalizedStringKey {
    /// Creates a key as an interpolated literal would.
    fileprivate init(_ phrase: Phrase) {
      var parts = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
      parts.appendLiteral(phrase.key)
      for argument in phrase.arguments {
        parts.appendLiteral(" ")
        switch argument {
        case .number(let number): parts.appendInterpolation(number)
        case .text(let text): parts.appendInterpolation(text)
        }
      }
      self.init(stringInterpolation: parts)
    }
  }
#endif

extension Phrase {
  /// The text in the language of the device, for what no view shows.
  var text: String {
    let text = Bundle.screens.localizedString(forKey: tableKey, value: nil, table: nil)
    return arguments.reduce(text) { text, argument in
      switch argument {
      case .number(let number): text.replacing("%lld", with: "\(number)", maxReplacements: 1)
      case .text(let words): text.replacing("%@", with: words, maxReplacements: 1)
      }
    }
  }
}

extension Bundle {
  /// The bundle with this module's strings.
  static var screens: Bundle {
    #if SWIFT_PACKAGE
      .module
    #else
      .main
    #endif
  }
}
