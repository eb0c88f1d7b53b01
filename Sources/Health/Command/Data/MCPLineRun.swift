import Dispatch
import Holdfast
import HoldfastAssistants
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastDriver
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastPorts
import Synchronization

/// The loop of `holdfast mcp`: it reads lines, answers questions, and writes lines.
struct MCPLineRun: Sendable {
  private let answers: StoredAnswers
  private let output: LineOutput
  private let diagnostic: @Sendable (String) -> Void

  /// - Parameter diagnostic: A function that prints a line on standard error.
  init(
    _ answers: StoredAnswers, console: Console, diagnostic: @escaping @Sendable (String) -> Void
  ) {
    (self.answers, self.diagnostic) = (answers, diagnostic)
    output = LineOutput(console)
  }

  /// Runs until the input has ended and all calls are answered, or until the task is cancelled.
  ///
  /// - Parameter export: The export to import first, and the directory of the store.
  func run(export: (path: String, directory: String)?) async {
    let (inputs, input) = AsyncStream.makeStream(of: MCPLineServer.Input.self)
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let effects = MCPLineEffects(answers, output, input, end)
    let policy = MCPLineServer.Policy()
    let driver = Driver(machine: MCPLineServer(policy, seed: 0), clock: BootClock()) { effect, _ in
      await effects.perform(effect)
    }
    // Before the first line, so that no question is answered earlier.
    if let export { await driver.post(.importing(Self.importing(export.path))) }
    let (imports, imported) = AsyncStream.makeStream(of: Void.self)
    let importing = Task {
      if let export { await follow(export.path, export.directory, input) }
      imported.finish()
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await driver.run() }
      group.addTask { for await input in inputs { await driver.post(input) } }
      group.addTask { await Self.read(policy.maxLine, into: driver) }
      for await _ in ends {}
      group.cancelAll()
      effects.cancelAll()
    }
    importing.cancel()
    await output.flush()
    await Self.wait(for: imports)
  }

  /// The time for which the end waits for an import, which may be blocked by its file. The value is
  /// Holdfast's own. The end of the process leaves the store whole.
  private static let importLimit = Duration.seconds(1)

  private static func wait(for end: AsyncStream<Void>) async {
    // This runs after a cancellation too.
    await Task {
      let clock = BootClock()
      await withTaskGroup(of: Void.self) { group in
        group.addTask { for await _ in end {} }
        group.addTask { try? await clock.wait(until: clock.now.advanced(by: importLimit)) }
        await group.next()
        group.cancelAll()
      }
    }.value
  }

  private static func read(_ longest: Int, into driver: Driver<MCPLineServer>) async {
    var lines = StandardInput(InputLines(longest: longest)).makeAsyncIterator()
    while await driver.waitUntil(\.hasRoom), let line = await lines.next() {
      let input: MCPLineServer.Input =
        line.bytes > longest
        ? .unreadable(.tooLong(bytes: line.bytes))
        : line.text.map { .line(Array($0.utf8)) } ?? .unreadable(.notText)
      guard await driver.post(input) else { return }
    }
    await driver.post(.ended)
  }

  /// Imports the export first, and again whenever it changes.
  private func follow(
    _ path: String, _ directory: String,
    _ input: AsyncStream<MCPLineServer.Input>.Continuation
  ) async {
    let last = Mutex("")
    let isFirst = Mutex(true)
    let watch = ExportWatch(path, into: .directory(directory)) { progress in
      guard isFirst.withLock({ $0 }) else { return }
      let text = Self.importing(path, progress)
      let isNew = last.withLock { shown in
        defer { shown = text }
        return shown != text
      }
      if isNew { input.yield(.importing(text)) }
    } note: { [diagnostic] kind, text in
      diagnostic("\(kind): \(text.printable)")
    }
    // A failure does not end the program: what was imported before is answered from.
    guard let progress = try? await watch.first(isRequired: false), !Task.isCancelled else {
      return
    }
    isFirst.withLock { $0 = false }
    answers.importFailed(progress.failure)
    input.yield(.ready)
    await watch.run(after: progress)
  }

  private static func importing(
    _ path: String, _ progress: HealthImport.Progress? = nil
  ) -> String {
    let name = (path.split(separator: "/").last.map(String.init) ?? path).printable
    let text = "\(name) is being imported"
    switch progress?.stage {
    case nil: return text
    case .comparing: return "\(text): looking for what was deleted"
    case .adding:
      guard let progress, let total = progress.total, total > 0 else { return text }
      return "\(text): \(min(progress.bytes, total) * 100 / total) % read"
    }
  }
}

/// The effects of the machine of `holdfast mcp`.
private final class MCPLineEffects: Sendable {
  private let answers: StoredAnswers
  private let output: LineOutput
  private let input: AsyncStream<MCPLineServer.Input>.Continuation
  private let end: AsyncStream<Void>.Continuation
  /// The questions that are being answered. The machine bounds their number.
  private let tasks = Mutex<[RequestID: Task<Void, Never>]>([:])

  init(
    _ answers: StoredAnswers, _ output: LineOutput,
    _ input: AsyncStream<MCPLineServer.Input>.Continuation, _ end: AsyncStream<Void>.Continuation
  ) {
    (self.answers, self.output, self.input, self.end) = (answers, output, input, end)
  }

  func perform(_ effect: MCPLineServer.Effect) async {
    switch effect {
    case .write(let line): await output.write(line)
    case .ask(let id, let question):
      tasks.withLock { tasks in
        tasks[id] = Task { [answers, input] in
          let outcome = await answers.outcome(question)
          forget(id)
          if !Task.isCancelled { input.yield(.outcome(id, outcome)) }
        }
      }
    case .cancel(let id): forget(id)?.cancel()
    case .finish: end.finish()
    }
  }

  func cancelAll() {
    for task in tasks.withLock({ $0.values.map(\.self) }) { task.cancel() }
  }

  @discardableResult
  private func forget(_ id: RequestID) -> Task<Void, Never>? {
    tasks.withLock { $0.removeValue(forKey: id) }
  }
}

/// The answers of a store on this machine.
final class StoredAnswers: Sendable {
  private let store: any HealthReading
  private let zone: ZoneRules
  private let remedy: String
  private let clock = BootClock()
  private let state = Mutex(State())

  private struct State {
    var hasData = false
    var failure: String?
  }

  /// - Parameter remedy: A sentence, without its period, that says how to import data.
  init(_ store: any HealthReading, zone: ZoneRules, remedy: String) {
    (self.store, self.zone, self.remedy) = (store, zone, remedy)
  }

  /// Notes why the first import failed, for answers without data.
  func importFailed(_ failure: String?) {
    state.withLock { $0.failure = failure }
  }

  func outcome(_ question: HealthQuestion) async -> MCPLineServer.Outcome {
    let stored = try? await store.stored()
    // Numbers of a part of the first export would be wrong.
    if let stored, stored.unfinished?.isRunning == true, stored.lastImport == nil {
      return .importing("Another program imports the first export into this data directory")
    }
    guard await isEmpty() else {
      return .data(await store.answer(question, zone: zone, now: clock.wall))
    }
    return .noData(remedy: state.withLock { $0.failure ?? remedy } + ".")
  }

  /// Returns whether the store is empty. A store that had data once is not read again.
  private func isEmpty() async -> Bool {
    guard !state.withLock({ $0.hasData }) else { return false }
    // If the store cannot be read, the answer says why.
    guard let types = try? await store.summary() else { return false }
    state.withLock { $0.hasData = !types.isEmpty }
    return types.isEmpty
  }
}

/// The lines that a program writes to standard output, in order, on a thread of their own.
///
/// A reader that does not read delays the writer once more than `most` bytes wait.
private final class LineOutput: Sendable {
  /// The number of waiting bytes above which `write` waits. The value is Holdfast's own.
  private static let most = 16 << 20

  private let console: Console
  private let queue = DispatchQueue(label: "holdfast.command.lines")
  private let waiting = Mutex(0)

  init(_ console: Console) {
    self.console = console
  }

  func write(_ line: [UInt8]) async {
    let isFull = waiting.withLock { waiting in
      waiting += line.count
      return waiting > Self.most
    }
    guard isFull else { return queue.async { self.put(line) } }
    await withCheckedContinuation { written in
      queue.async {
        self.put(line)
        written.resume()
      }
    }
  }

  /// Waits until all lines are written.
  func flush() async {
    await withCheckedContinuation { written in queue.async { written.resume() } }
  }

  private func put(_ line: [UInt8]) {
    console.line(String(decoding: line, as: UTF8.self))
    waiting.withLock { $0 -= line.count }
  }
}
