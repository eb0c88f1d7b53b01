import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

@Suite struct DurabilityTests {
  @Test func `committed changes persist across closing and reopening`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let change = TimelineChange(
      messages: (1...5).map { Sample.message($0, in: shop) },
      cursor: ShopCursor(position: ShopPosition(epoch: "e", offset: 5)))
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    _ = try await store.commit(change, to: shop)
    let before = try await store.load(shop, limit: 3)
    await store.close()
    let again = try await SQLiteTimelineStore.open(in: scratch.path)
    #expect(try await again.load(shop, limit: 3) == before)
  }

  @Test func `a reopened log keeps its epoch and continues its offsets`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let key = UUID128(high: 1, low: 1)
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    let first = try await log.append(Sample.message(1, in: shop), idempotencyKey: key)
    await log.close()
    let again = try await SQLiteMessageLog.open(in: scratch.path)
    let second = try await again.append(Sample.message(2, in: shop), idempotencyKey: nil)
    let epoch = try #require(first.message.position).epoch
    #expect(second.message.position == ShopPosition(epoch: epoch, offset: 2))
    let repeated = try await again.append(Sample.message(3, in: shop), idempotencyKey: key)
    #expect(repeated.message == first.message)
    #expect(!repeated.isNew)
  }

  @Test func `two logs have different epochs`() async throws {
    let shop = try Sample.shop()
    let (one, other) = (try Scratch(), try Scratch())
    let first = try await SQLiteMessageLog.open(in: one.path).head(of: shop).epoch
    let second = try await SQLiteMessageLog.open(in: other.path).head(of: shop).epoch
    #expect(first != second)
  }

  @Test func `a failed append does not fail other appends`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    let outcomes = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<40 {
        group.addTask {
          let message = Sample.message(UInt64(number / 2), in: shop)
          return (try? await log.append(message, idempotencyKey: nil)) != nil
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(outcomes == 20)
    #expect(try await log.head(of: shop).offset == 20)
  }

  /// Writes until it is killed. The next test runs it in a separate process.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["HOLDFAST_CRASH_DIR"] != nil))
  func `writes until it is killed`() async throws {
    let path = try #require(ProcessInfo.processInfo.environment["HOLDFAST_CRASH_DIR"])
    let shop = try Sample.shop()
    let store = try await SQLiteTimelineStore.open(in: path)
    let log = try await SQLiteMessageLog.open(in: path)
    var number: UInt64 = 0
    while true {
      number += 1
      let message = Sample.message(number, in: shop, text: String(repeating: "x", count: 3_000))
      let stored = try await log.append(message, idempotencyKey: nil).message
      let change = TimelineChange(messages: [stored], cursor: ShopCursor(position: stored.position))
      _ = try await store.commit(change, to: shop)
      FileHandle.standardOutput.write(Data("stored \(number)\n".utf8))
    }
  }

  // The laboratory starts programs on Linux only.
  #if os(Linux)
    @Test(.timeLimit(.minutes(60)), arguments: [1, 17, 300])
    func `a process that is killed while it writes loses nothing it reported`(
      after wanted: UInt64
    ) async throws {
      let scratch = try Scratch()
      let reported = try await killWriter(in: scratch.path, after: wanted)
      #expect(reported >= wanted)
      let shop = try Sample.shop()
      let snapshot = try await SQLiteTimelineStore.open(in: scratch.path).load(shop, limit: 100_000)
      let count = UInt64(snapshot.messages.count)
      #expect(count >= reported)
      #expect(snapshot.messages.map(\.id.low) == Array(1...count))
      #expect(snapshot.cursor.position == snapshot.messages.last?.position)
      let head = try await SQLiteMessageLog.open(in: scratch.path).head(of: shop)
      #expect(head.offset >= count && head.offset <= count + 1)
    }

    /// Starts the writer and kills it (signal 9) once it has reported `wanted`. Returns its last
    /// report.
    private func killWriter(in path: String, after wanted: UInt64) async throws -> UInt64 {
      let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let arguments = testArguments() + ["--filter", "writes until it is killed"]
      let writer = try LabProcess(
        [program] + arguments, environment: ["HOLDFAST_CRASH_DIR": path])
      var last: UInt64 = 0
      for await line in writer.lines {
        guard line.hasPrefix("stored "), let count = UInt64(line.dropFirst(7)) else { continue }
        last = count
        if last == wanted { writer.signal(SIGKILL) }
      }
      return last
    }

    /// Returns the arguments that make this binary run Swift Testing again.
    private func testArguments() -> [String] {
      let own = CommandLine.arguments.dropFirst()
      guard let bundle = own.firstIndex(of: "--test-bundle-path"), bundle + 1 < own.endIndex else {
        return ["--testing-library", "swift-testing"]
      }
      return [own[bundle], own[bundle + 1], "--testing-library", "swift-testing"]
    }
  #endif
}
