import Foundation
import Holdfast
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthRelay
import HoldfastHealthSync
import Testing

/// Compiles the example of docs/health-sync.md.
private func sync(
  to server: String, from directory: String, _ secret: String,
  _ show: (SyncTypeReport) async -> Void
) async throws {
  // docs/health-sync.md >
  let health = try await HoldfastPlatform.readableHealthStore(in: directory)
  let sync = try await SampleSync(
    SyncConfiguration(
      server, source: StoredHealthSource(health), storage: .directory(directory)
    ) { secret })
  for await update in sync {
    if case .type(let report) = update { await show(report) }
  }
  await sync.close()
  await health.close()
  // docs/health-sync.md <
}

/// Compiles the example of docs/bottle.md.
private func follow(
  _ radio: any Central, in directory: String, _ show: (BottleDrink) async -> Void
) async throws {
  // docs/bottle.md >
  let bottle = try await HeldBottle(
    BottleLinkConfiguration(radio: radio, storage: .directory(directory)))
  for await update in bottle {
    guard case .drink(let drink) = update else { continue }
    await show(drink)
    bottle.markShown(through: drink.number)
  }
  await bottle.close()
  // docs/bottle.md <
}

/// Compiles the example of docs/relay.md.
private func pull(
  _ configuration: RelayConfiguration, _ token: Secret
) async throws -> PullReport {
  // docs/relay.md >
  let pull = try HealthPull(configuration, token: token)  // the configuration of the relay
  let report = await pull.run()  // in the handler of a push, or in a background task
  // docs/relay.md <
  return report
}

/// Tests that the pages of features that need a phone's data or a radio show compiled examples.
@Suite struct PageExampleTests {
  @Test(arguments: ["docs/health-sync.md", "docs/bottle.md", "docs/relay.md"])
  func `the page contains exactly the compiled example`(page: String) throws {
    let own = try String(contentsOfFile: #filePath, encoding: .utf8)
    let lines = own.split(separator: "\n", omittingEmptySubsequences: false)
    let first = try #require(lines.firstIndex(of: "  // \(page) >"))
    let last = try #require(lines.firstIndex(of: "  // \(page) <"))
    let example = lines[(first + 1)..<last].map { $0.dropFirst(2) }.joined(separator: "\n")
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appending(path: page), encoding: .utf8)
    #expect(text.contains("```swift\n" + example + "\n```\n"))
  }
}
