import HoldfastCore
public import HoldfastLinkChecks
import HoldfastSession
import HoldfastSessionData

extension SessionsFeature {
  public static func describe(_ input: Input) -> TracePart {
    switch input {
    case .prompt(let text, _, _, _): (.user, "says \(TraceText.quoted(text.firstWord))")
    case .cancel: (.user, "cancels what runs")
    case .frame(let attempt, let message, _, _):
      TraceText.connection(attempt, "brings \(describe(message))")
    case .restored(let snapshot, _, _):
      (.disk, "gives back \(TraceText.count(snapshot.prompts.count, "prompt"))")
    case .committed(_, let news): (.disk, "has stored the changes, \(news.count) of them new")
    case .commitFailed(_, let failure): (.disk, "stores nothing: \(failure)")
    case .shown(let through): (.app, "has shown news up to \(through)")
    case .answersShown(let numbers): (.app, "has shown \(TraceText.count(numbers.count, "answer"))")
    case .probed(let isPortal): (.app, isPortal ? "finds a login page" : "finds no login page")
    case .start, .stop, .stopUnread, .retry, .discard, .follow, .link, .credentials, .opened,
      .malformed, .reading, .unsent:
      TraceText.cause(input, of: Model.self)
    }
  }

  private static func describe(_ message: SessionServerMessage) -> String {
    switch message {
    case .hello: "a greeting"
    case .connected(let connected):
      connected.isRecovered == false ? "its word, and that messages are gone" : "its word"
    case .pong: "a pong"
    case .ack: "an acknowledgement"
    case .response(let response):
      switch response.result {
      case .success(let text): "the answer \(TraceText.quoted(text.firstWords))"
      case .failure(let error): "the end of a prompt: \(error)"
      }
    case .responsePart(_, _, let index, _): "part \(index) of an answer"
    case .error(let error): "a refusal: \(error.message)"
    case .authError: "that the key is wrong"
    case .replay(_, let entry, _): "again \(TraceText.quoted(entry.text.firstWords))"
    case .turnComplete: "the end of a turn"
    case .history(let history): TraceText.count(history.entries.count, "kept message")
    case .historyBatch(let all): "\(TraceText.count(all.count, "conversation"))"
    case .heartbeat: "a heartbeat"
    case .draining: "that the server will stop"
    case .sessionKilled: "that it was cancelled"
    case .unknown(let type): "\(TraceText.quoted(type))"
    }
  }

  public static func isWorth(_ input: Input, _ consequences: [TracePart]) -> Bool {
    switch input {
    case .shown, .answersShown: false
    case .committed, .frame(_, .pong, _, _), .frame(_, .heartbeat, _, _),
      .frame(_, .turnComplete, _, _):
      !consequences.isEmpty
    case .restored, .start, .stop, .stopUnread, .prompt, .retry, .discard, .cancel, .follow,
      .link, .credentials, .probed, .opened, .frame, .malformed, .reading, .unsent, .commitFailed:
      true
    }
  }

  public static func describe(_ effect: Effect, isVerbose: Bool) -> TracePart? {
    switch effect {
    case .send(_, let message): sent(message).map { (.app, "sends \($0)") }
    case .update(.message(let entry, _, _)):
      (.screen, "shows \(TraceText.quoted(entry.text.firstWords))")
    case .update(.prompt(let prompt, _)):
      (.screen, "\(prompt.text.firstWord) is \(prompt.state.rawValue)")
    case .update(.gap(_, let gap)): (.screen, "messages are missing: \(gap.rawValue)")
    case .probe: (.app, "looks for a login page")
    case .update(.record), .update(.part), .update(.quality), .update(.pending), .commit: nil
    case .open, .close, .connect, .refreshCredentials, .update(.status), .update(.notice):
      TraceText.effect(effect, of: Model.self, isVerbose: isVerbose)
    }
  }

  private static func sent(_ message: SessionClientMessage) -> String? {
    switch message {
    case .prompt(let prompt): "the prompt \(prompt.text.firstWord)"
    case .subscribe, .subscribeBatch: "what conversations it follows"
    case .killSession: "that a prompt shall end"
    case .connect, .ping, .messageAck, .unsubscribe, .setMaxMessageSize, .disconnect, .unknown:
      nil
    }
  }

  public static func describe(_ fact: Fact) -> [TracePart] {
    switch fact {
    case .ran(let text): [(.server, "runs the program for \(text)")]
    case .discarded: []
    case .dropped(let phone): [(.server, "has dropped messages of phone \(phone)")]
    case .broken(_, let detail): [(.server, "is wrong: \(detail)")]
    case .counted: []
    }
  }
}
