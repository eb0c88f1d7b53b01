import CornerCore
import Foundation
import Holdfast

/// A program of a corner shop: a price board over any WebSocket, a shop's messages, and questions.
@main struct Corner {
  static func main() async throws {
    var words = CommandLine.arguments.dropFirst()
    guard let command = words.popFirst(), let url = words.popFirst(),
      let directory = words.popFirst(), let shell = words.popFirst()
    else {
      show("usage: Corner board|shop|talk URL DIRECTORY TOKEN-COMMAND [TEXT…]")
      return
    }
    let tokens = TokenSource { try await run(shell) }
    switch command {
    case "board": try await board(url, directory, tokens, orders: words)
    case "shop": try await shop(url, directory, tokens, messages: words)
    default: try await talk(url, directory, tokens, questions: words)
    }
  }

  /// Shows prices until the process ends. Orders are sent once, also if the process is killed.
  static func board(
    _ url: String, _ directory: String, _ tokens: TokenSource, orders: ArraySlice<String>
  ) async throws {
    let file = URL(filePath: directory + "/position")
    let position = (try? String(contentsOf: file, encoding: .utf8)).flatMap(Int.init)
    let socket = try await CornerCore.board(
      url, topics: ["bread", "cake"], after: position, tokens: tokens,
      outbox: .durable(try await HoldfastPlatform.outbox(in: directory + "/outbox")))
    for order in orders { try await socket.order(order) }
    try await socket.follow(after: position) { line in
      show(line)
      if case .price(_, _, let seq) = line {
        try? Data("\(seq)".utf8).write(to: file, options: .atomic)
      }
      return true
    }
  }

  /// Sends messages to the shop `bakery`, each exactly once, and shows the shop's messages.
  static func shop(
    _ server: String, _ directory: String, _ tokens: TokenSource, messages: ArraySlice<String>
  ) async throws {
    guard let bakery = ShopID("bakery") else { return }
    let streams = try await ShopStreams(storage: .directory(directory), tokens: tokens)
    let stream = try await streams.open(StreamConfiguration(server: server, shop: bakery))
    for text in messages { show("sent as \(try await stream.send(text))") }
    for await update in stream {
      guard case .messages(let messages, let via) = update else { continue }
      for message in messages { show("\(via): \(message.text)") }
      if messages.last?.text == "closing time" { break }
    }
    await stream.close()
  }

  /// Prints the answer to each question.
  static func talk(
    _ url: String, _ directory: String, _ tokens: TokenSource, questions: ArraySlice<String>
  ) async throws {
    let session = try await HeldSession(
      SessionConfiguration(url, storage: .directory(directory), tokens: tokens))
    for question in questions { show(try await session.answer(to: question).text) }
    await session.close()
  }

  /// Writes a line at once, also into a pipe.
  static func show(_ line: Any) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

  /// Returns the output of a shell command, such as a token.
  static func run(_ command: String) async throws -> String {
    let (process, pipe) = (Process(), Pipe())
    process.executableURL = URL(filePath: "/bin/sh")
    (process.arguments, process.standardOutput) = (["-c", command], pipe)
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
