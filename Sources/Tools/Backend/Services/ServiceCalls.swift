import LinkCore
import LinkServerCore

/// A service that other services, and the process itself, may ask.
protocol AnsweringService: Service {
  associatedtype Question: Sendable

  /// The input that a question is.
  static func asked(_ id: AskID, _ question: Question) -> Rules.Input

  /// The kind of a question, as the log names it.
  static func kind(of question: Question) -> String

  /// The input that takes a question back.
  static func abandoned(_ id: AskID) -> Rules.Input

  /// The outcome of the questions that are open when the backend stops.
  static var stopped: Outcome { get }
}

/// What services have for each other; delivered once the present event is handled.
final class Mailbox {
  typealias Letter = (inout BackendHandler) -> Void

  private var letters: [Letter] = []

  var isEmpty: Bool { letters.isEmpty }

  func put(_ letter: @escaping Letter) {
    letters.append(letter)
  }

  func take() -> [Letter] {
    defer { letters = [] }
    return letters
  }
}

extension ServiceDesk {
  /// Asks another service; its outcome comes back as the input that `conclude` makes.
  func ask<T: AnsweringService>(
    _ other: T.Type, _ question: T.Question, as id: AskID,
    _ conclude: @escaping (T.Outcome) -> S.Rules.Input
  ) {
    mailbox.put { handler in
      let theirs = handler.ask(T.self, question) { outcome in
        { handler in
          handler.work(on: S.self) { runner in
            runner.atDesk { $0.asked[id] = nil }
            runner.feed(conclude(outcome))
          }
        }
      } stop: {
      }
      handler.work(on: S.self) { $0.atDesk { $0.asked[id] = theirs } }
    }
  }

  /// Takes a question back: no outcome of it comes any more.
  func abandon<T: AnsweringService>(_ id: AskID, at other: T.Type) {
    mailbox.put { handler in
      var theirs: AskID?
      handler.work(on: S.self) { theirs = $0.atDesk { $0.asked.removeValue(forKey: id) } }
      guard let theirs else { return }
      handler.work(on: T.self) { runner in
        guard runner.atDesk({ $0.asks.removeValue(forKey: theirs) }) != nil else { return }
        runner.feed(T.abandoned(theirs))
      }
    }
  }

  /// Answers a question.
  mutating func answer(_ id: AskID, _ outcome: S.Outcome, word: String) {
    guard let ask = asks.removeValue(forKey: id) else { return }
    var line = LogLine(.asked)
    (line.route, line.outcome) = (ask.kind, word)
    line.took = ask.since.duration(to: now)
    log.note(line)
    mailbox.put(ask.reply(outcome))
  }
}

extension BackendHandler {
  /// Asks a service from within the process; `answer` is called once.
  mutating func call<T: AnsweringService>(
    _ service: T.Type, _ question: T.Question, _ answer: @escaping @Sendable (T.Outcome) -> Void
  ) {
    _ = ask(T.self, question) { outcome in
      { _ in answer(outcome) }
    } stop: {
      answer(T.stopped)
    }
  }

  fileprivate mutating func ask<T: AnsweringService>(
    _ service: T.Type, _ question: T.Question,
    reply: @escaping (T.Outcome) -> Mailbox.Letter, stop: @escaping () -> Void
  ) -> AskID? {
    var id: AskID?
    work(on: T.self) { runner in
      let name = runner.atDesk { desk in
        desk.lastAsk += 1
        let name = AskID(desk.lastAsk)
        desk.asks[name] = ServiceDesk<T>.Ask(
          kind: T.kind(of: question), since: desk.now, reply: reply, stop: stop)
        return name
      }
      id = name
      runner.feed(T.asked(name, question))
    }
    return id
  }
}
