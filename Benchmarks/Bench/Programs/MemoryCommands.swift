import HoldfastCommandKit

/// Commands that measure their own memory.
///
/// Each runs in a new process, so that nothing can reuse memory freed earlier.
enum MemoryCommands {
  private static let server = Parameter<String>.operand(.text("URL"), "the server")
  private static let count = Parameter<Int>.operand(.integer("COUNT", 1...1_000_000), "how many")
  private static let file = Parameter<String>.operand(.text("FILE"), "an export of Apple Health")
  private static let directory = Parameter<String>.operand(
    .text("DIR"), "where things are stored")

  static var commands: [Command] {
    [
      Command(
        "streams", "tell how many bytes one more open stream takes, with its part of the server",
        examples: [.init("HoldfastBench streams 48", "the mean of 48")],
        takes: count
      ) { call async throws(CommandFailure) in
        try await report(call) { try await Rest.memory(streams: call[count]) }
      },
      Command(
        "missed", "read what was missed, and tell the megabytes of this process at its peak",
        examples: [.init("HoldfastBench missed http://127.0.0.1:9001 100 /tmp/phone", "100")],
        takes: server, count, directory
      ) { call async throws(CommandFailure) in
        try await report(call) {
          let phone = try await Phone.open(
            call[server], try CannedShop(1).shop, in: call[directory])
          _ = try await phone.read(call[count])
          await phone.close()
          return try Usage.peak()
        }
      },
      Command(
        "import", "import an export, and tell the megabytes of this process at its peak",
        examples: [.init("HoldfastBench import export.xml /tmp/store", "into a store")],
        takes: file, directory
      ) { call async throws(CommandFailure) in
        try await report(call) {
          _ = try await Import.stored(call[file], in: call[directory])
          return try Usage.peak()
        }
      },
    ]
  }

  private static func report(
    _ call: Invocation, _ measure: () async throws -> Double
  ) async throws(CommandFailure) {
    do {
      call.console.line("\(try await measure())")
    } catch {
      throw CommandFailure(.failed, "cannot measure: \(error)")
    }
  }
}
