import Foundation
import Holdfast
import HoldfastPorts
import HoldfastTestKit
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// The time at which the screens of these tests are shown: 10 o'clock on 2026-09-01.
let now = Date(timeIntervalSince1970: 1_788_256_800)

/// Shows a view, and checks what holds for each screen.
@MainActor func screen(
  _ view: some View, _ language: String = "en", at now: Date = now,
  sourceLocation: SourceLocation = #_sourceLocation
) -> Screen {
  let screen = Screen(view, language: language, now: now)
  check(screen, sourceLocation: sourceLocation)
  return screen
}

/// Checks that a screen has all texts, that a screen reader has words for each element, and that no
/// view was misused.
@MainActor func check(_ screen: Screen, sourceLocation: SourceLocation = #_sourceLocation) {
  #expect(screen.misuse == [], sourceLocation: sourceLocation)
  #expect(screen.unlabelled == [], "\(screen.lines)", sourceLocation: sourceLocation)
  let names = screen.buttons.map(\.name)
  #expect(!names.contains(""), "\(screen.lines)", sourceLocation: sourceLocation)
}

/// Returns the links of an app whose server is a script.
@MainActor func links(
  in scratch: Scratch, _ network: FakeNetwork, secrets: (any SecretStore)? = nil
) throws -> HoldfastLinks {
  HoldfastLinks(
    server: try #require(URL(string: "https://server.example")),
    directory: URL(filePath: scratch.path),
    ports: DevicePorts(network: network, reachability: FakeReachability(), secrets: secrets)
  ) { "token" }
}

extension Screen {
  /// The lines, with plain spaces.
  var text: [String] {
    lines.map { $0.replacing("\u{202F}", with: " ").replacing("\u{A0}", with: " ") }
  }

  /// Shows the screen again until a condition holds.
  func wait(until condition: () -> Bool) async {
    render()
    while !condition() {
      await Task.yield()
      render()
    }
  }
}
