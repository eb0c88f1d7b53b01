import Foundation
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the tables of strings, and of the previews, which show every screen.
@Suite @MainActor struct LanguageTests {
  private static let sources = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/HoldfastUI")

  private func table(_ language: String) -> StringTable {
    StringTable.read("Localizable", Locale(identifier: language), .screens)
  }

  @Test func `both languages have the same keys`() {
    let (english, german) = (table("en"), table("de"))
    #expect(english.keys.count > 100)
    #expect(english.keys.symmetricDifference(german.keys) == [])
    #expect(Set(english.plural.keys) == Set(german.plural.keys))
    #expect(Set(english.plain.keys).isDisjoint(with: english.plural.keys))
  }

  @Test func `each text has words, and the arguments of its key`() {
    for language in ["en", "de"] {
      let table = table(language)
      for (key, forms) in table.plural {
        #expect(Set(forms.keys) == ["one", "other"], "\(key)")
        for text in forms.values { expect(text, arguments: key) }
      }
      for (key, text) in table.plain { expect(text, arguments: key) }
    }
  }

  private func expect(_ text: String, arguments key: String) {
    func arguments(_ text: String) -> [Substring] {
      text.matches(of: #/%(?:lld|@)/#).map(\.output)
    }
    #expect(arguments(text) == arguments(key), "\(key): \(text)")
    #expect(!text.isEmpty && text == text.trimmingCharacters(in: .whitespaces), "\(key)")
  }

  @Test func `each key is used, and each used key has a text`() throws {
    let keys = Set(table("en").keys.map { String($0.prefix { $0 != " " }) })
    let rooms = Set(keys.map { $0.prefix { $0 != "." } })
    var used: Set<String> = []
    let files = FileManager.default.enumerator(
      at: Self.sources.appending(path: "Views"), includingPropertiesForKeys: nil)
    for case let file as URL in try #require(files) where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: #/"([a-z]+)\.[A-Za-z.]+"/#) where rooms.contains(match.1) {
        used.insert(String(match.0.dropFirst().dropLast()))
      }
    }
    // Names of symbols of the system.
    used = used.filter { !$0.hasSuffix(".circle") }
    #expect(used.subtracting(keys) == [])
    #expect(keys.subtracting(used) == [])
  }

  @Test func `an unknown language is shown in English`() {
    let shown = screen(ConnectionStatusView(ConnectionState(phase: .connecting)) {}, "fr")
    #expect(shown.lines == ["Connecting…"])
  }

  @Test(arguments: ["en", "de"])
  func `every preview can be shown`(language: String) {
    #expect(screen(ConnectionStatusView_Previews.previews, language).lines.count > 6)
    #expect(screen(MessageListView_Previews.previews, language).lines.count > 20)
    #expect(screen(ConversationView_Previews.previews, language).lines.count > 20)
    #expect(screen(PairingCard_Previews.previews, language).lines.count > 15)
    #expect(screen(BottleCard_Previews.previews, language).lines.count > 20)
    #expect(screen(SyncCard_Previews.previews, language).lines.count > 20)
  }

  @Test func `a missing text and a missing argument fail a test`() {
    let missing = Screen(Text(Phrase("sync.nothing")))
    #expect(missing.misuse == ["no text for “sync.nothing” in en"])
    let icon = Screen(Button(action: {}) { Image(systemName: "xmark") })
    #expect(icon.unlabelled == [0] && icon.buttons.map(\.name) == [""])
  }
}
