import CommandKit
import LinkCore
import LinkSimulator
import MessageStream

/// `holdfast simulate message-stream`: many lives of one phone, before all judges.
enum SimulateStreamCommand {
  static var command: Command {
    Command(
      "message-stream", "play many lives of a phone in a shop, before all judges",
      examples: [], takes: Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
  }
}
