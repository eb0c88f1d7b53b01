import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastTestKit
import Synchronization
import Testing

/// Runs the example. The lines between the two marks appear verbatim in docs/apps.md.
private func answer(
  on server: String, from directory: String, _ show: (RelayUpdate) async -> Bool
) async throws {
  // docs/apps.md >
  let relay = try await Relay(
    RelayConfiguration(
      server: server, phone: try HoldfastPlatform.phoneName(in: directory),
      zone: ZoneRules(.current), profile: .foreground, storage: .directory(directory)))
  relay.start()
  for await update in relay {
    guard await show(update) else { break }
  }
  if let failure = relay.failure { print("The relay has ended: \(failure)") }
  await relay.close()
  // docs/apps.md <
}

/// Tests that compile and run the relay example of docs/apps.md.
@Suite(.timeLimit(.minutes(60))) struct RelayExampleTests {
  @Test func `the relay example of the documentation pairs and answers`() async throws {
    let scratch = try Scratch()
    let peer = try await RelayPeer(.say(.code()))
    var texts: [String] = []
    try await answer(on: peer.url, from: scratch("phone")) { update in
      switch update {
      case .pair(let pair):
        texts.append(pair.word.text)
        peer.say(.steps("a"))
      case .ended(let receipt):
        texts.append(receipt.id.text)
        return false
      case .assistant, .status, .problem: break
      }
      return true
    }
    #expect(texts == ["harbour", "a"])
    await peer.stop()
  }

  @Test func `a phone's name is stored permanently and readable only by its owner`() async throws {
    let scratch = try Scratch()
    await (try HoldfastPlatform.healthStore(in: scratch("phone"))).close()
    let first = try HoldfastPlatform.phoneName(in: scratch("phone"))
    #expect(try HoldfastPlatform.phoneName(in: scratch("phone")) == first)
    let path = scratch("phone") + "/phone"
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    try Data("no name".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: (any Error).self) { try HoldfastPlatform.phoneName(in: scratch("phone")) }
  }

  @Test func `processes that name a phone at once agree on one name`() throws {
    let scratch = try Scratch()
    for round in 0..<50 {
      let names = Mutex<Set<UUID128>>([])
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        let name = try? HoldfastPlatform.phoneName(in: scratch("\(round)"))
        _ = names.withLock { $0.insert(name ?? UUID128(high: 0, low: 0)) }
      }
      let name = try HoldfastPlatform.phoneName(in: scratch("\(round)"))
      #expect(names.withLock(\.self) == [name])
    }
  }

  @Test func `the documentation page contains exactly the code of the relay example`() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/apps.md"), encoding: .utf8)
    let own = try String(contentsOfFile: #filePath, encoding: .utf8)
    let lines = own.split(separator: "\n", omittingEmptySubsequences: false)
    let begin = try #require(lines.firstIndex { $0 == "  // docs/apps.md >" })
    let end = try #require(lines.firstIndex { $0 == "  // docs/apps.md <" })
    let example = lines[(begin + 1)..<end].map { $0.dropFirst(2) }.joined(separator: "\n")
    #expect(page.contains("```swift\n" + example + "\n```\n"))
  }
}
