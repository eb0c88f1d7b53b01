import LinkCore
import LinkServerCore
import LinkWire

// Prompts, from their arrival to their end.
extension SessionHouse {
  var running: Int { jobs.values.count { $0.takesPlace } }
  private var openJobs: [Job] { jobs.values.filter { $0.answer == nil } }

  mutating func prompt(_ id: ConnectionID, _ prompt: SessionPrompt, of client: String) {
    let known = (prompt.idempotencyKey.flatMap { byKey[$0] } ?? []).compactMap { jobs[$0] }
    let own = known.first { $0.client == client }
    if let job = own ?? known.first(where: { Self.isSame($0.prompt, prompt) }) {
      if Self.isSame(job.prompt, prompt) { return again(job.id, on: id, by: client) }
      let words = "Another prompt was sent with this idempotency_key."
      return refuse(id, "idempotency_conflict", words, of: prompt)
    }
    if isTooFast(client) {
      let words = "You send prompts too fast; send it again later."
      return refuse(id, "rate_limited", words, of: prompt)
    }
    if let (code, words) = objection(to: prompt) { return refuse(id, code, words, of: prompt) }
    lastJob += 1
    let place = SessionPromptID(lastJob)
    let line = talks[prompt.conversation]?.line ?? []
    let isFirst = line.allSatisfy { jobs[$0]?.ending != nil }
    let starts = isFirst && queue.isEmpty && running < numbers.running
    enter(
      Job(
        id: place, client: client, prompt: prompt, asker: id, at: wall,
        stage: .arrives(starts: starts)))
    count("session_prompts_total")
    var changes = jobs[place].map { [SessionChange.prompt($0.kept)] } ?? []
    if var kept = clients[client]?.kept {
      if let number = prompt.number { kept.lastPrompt = max(number, kept.lastPrompt ?? 0) }
      changes.append(.client(kept))
    }
    store(changes, [.accepted(place)])
  }

  private static func isSame(_ one: SessionPrompt, _ two: SessionPrompt) -> Bool {
    one.text == two.text && one.systemPrompt == two.systemPrompt && one.provider == two.provider
      && one.conversation == two.conversation && one.workingDirectory == two.workingDirectory
  }

  /// So many prompts at once, and one in each interval after that.
  private mutating func isTooFast(_ client: String) -> Bool {
    if fullAt[client] == nil, fullAt.count >= numbers.clients {
      fullAt = fullAt.filter { now < $0.value }
      if fullAt.count >= numbers.clients { return true }
    }
    let full = max(fullAt[client] ?? now, now)
    if now.duration(to: full) > numbers.interval * (numbers.burst - 1) { return true }
    fullAt[client] = full.advanced(by: numbers.interval)
    return false
  }

  private func objection(to prompt: SessionPrompt) -> (String, String)? {
    guard mode == .serves else {
      let words = "The server is about to stop; send the prompt to the next connection."
      return ("draining", words)
    }
    let system = prompt.systemPrompt?.utf8.count ?? 0
    let bytes = prompt.text.utf8.count + system
    if bytes > numbers.promptBytes {
      return ("too_long", "A prompt has at most \(numbers.promptBytes) bytes; shorten it.")
    }
    if system > numbers.systemBytes {
      return ("too_long", "A system_prompt has at most \(numbers.systemBytes) bytes; shorten it.")
    }
    if talks[prompt.conversation]?.line.count ?? 0 >= numbers.promptsOfTalk {
      return ("busy", "Too many prompts of this conversation wait; send it again later.")
    }
    let all = openJobs
    if all.count >= numbers.prompts || waits.count >= numbers.writes
      || all.reduce(bytes, { $0 + $1.bytes }) > numbers.promptsBytes
    {
      return ("busy", "Too many prompts wait; send it again later.")
    }
    return nil
  }

  mutating func enter(_ job: Job) {
    let (conversation, time) = (job.prompt.conversation, wall)
    jobs[job.id] = job
    if let key = job.prompt.idempotencyKey { byKey[key, default: []].append(job.id) }
    talks[conversation, default: Talk()].line.append(job.id)
    talks[conversation]?.usedAt = time
  }

  /// A prompt came again: it is acknowledged until it is answered.
  private mutating func again(_ id: SessionPromptID, on asker: ConnectionID, by client: String) {
    count("session_repeated_total")
    jobs[id]?.asker = asker
    guard let job = jobs[id] else { return }
    if job.client != client, job.answer == nil, job.ending == nil {
      jobs[id]?.client = client
      if case .arrives = job.stage {
        jobs[id]?.giver = job.giver ?? job.client
      } else if let kept = jobs[id]?.kept {
        later(.prompt(kept))
      }
    }
    switch job.stage {
    case .arrives: return
    case .waits, .starts, .runs, .stops, .ends: confirm(id)
    case .over:
      put(.response(id), on: asker)
      put(.turnEnd(job.prompt.conversation, isAborted: false), on: asker)
      pump(asker)
    }
  }

  private mutating func confirm(_ id: SessionPromptID) {
    guard let job = jobs[id], let asker = job.asker, isOpen(asker) else { return }
    say(asker, .ack(message: "Prompt received", idempotencyKey: job.prompt.idempotencyKey))
  }

  // The store's word.

  mutating func accepted(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let job = jobs[id], case .arrives(let starts) = job.stage else { return }
    let conversation = job.prompt.conversation
    if failure != nil {
      leaveLine(id)
      erase(id)
      if let asker = job.asker {
        let words = "The server cannot store the prompt now; send it again later."
        refuse(asker, "store_failed", words, of: job.prompt)
      }
      fillPlaces()
      goOn(conversation)
      return drop(conversation)
    }
    if let number = job.prompt.number {
      let sender = job.giver ?? job.client
      let last = clients[sender]?.kept.lastPrompt ?? 0
      clients[sender]?.kept.lastPrompt = max(number, last)
    }
    jobs[id]?.stage = starts ? .starts : .waits
    if job.giver != nil, let kept = jobs[id]?.kept { later(.prompt(kept)) }
    confirm(id)
    if starts { return run(id) }
    if !job.killers.isEmpty { return finish(id, .failure(error: "cancelled")) }
    goOn(conversation)
  }

  mutating func started(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard jobs[id]?.stage == .starts else { return }
    if failure == nil { run(id) } else { owe(id) }
  }

  private mutating func run(_ id: SessionPromptID) {
    guard let job = jobs[id] else { return }
    let isCancelled = !job.killers.isEmpty
    if mode != .serves {
      if isCancelled { return finish(id, .failure(error: "cancelled")) }
      jobs[id]?.stage = .waits
      if let kept = jobs[id]?.kept { store([.prompt(kept)], [.putOff(id)]) }
      return
    }
    jobs[id]?.stage = .runs
    count("session_started_total")
    ring(.job(id), after: numbers.turn)
    out.append(.run(id, job.prompt))
    if isCancelled { stop(id, "cancelled") }
  }

  // The order of prompts.

  /// The prompt of a conversation that can start now.
  private func next(in conversation: String) -> SessionPromptID? {
    let line = talks[conversation]?.line ?? []
    let first = line.first { jobs[$0]?.ending == nil }
    guard mode == .serves, let first, jobs[first]?.stage == .waits else { return nil }
    return first
  }

  mutating func goOn(_ conversation: String) {
    guard let id = next(in: conversation) else { return }
    if running >= numbers.running {
      if talks[conversation]?.isQueued == true { return }
      talks[conversation]?.isQueued = true
      queue.append(conversation)
      return
    }
    jobs[id]?.stage = .starts
    store([.started(id)], [.started(id)])
  }

  /// Gives free places to the conversations that wait for one.
  private mutating func fillPlaces() {
    while let first = queue.first, running < numbers.running {
      queue.removeFirst()
      talks[first]?.isQueued = false
      goOn(first)
    }
  }

  mutating func leaveLine(_ id: SessionPromptID) {
    guard let job = jobs[id] else { return }
    talks[job.prompt.conversation]?.line.removeAll { $0 == id }
  }

  mutating func erase(_ id: SessionPromptID) {
    guard let key = jobs.removeValue(forKey: id)?.prompt.idempotencyKey else { return }
    byKey[key]?.removeAll { $0 == id }
  }

  // Handlers.

  mutating func produced(_ id: SessionPromptID, _ text: String) {
    guard let job = jobs[id], job.stage == .runs else { return }
    if job.output.utf8.count + text.utf8.count > numbers.responseBytes {
      return stop(id, "the response is longer than \(numbers.responseBytes) bytes")
    }
    jobs[id]?.output += text
    for connection in receivers(of: job) { sendPart(id, to: connection) }
  }

  mutating func timeIsUp(_ id: SessionPromptID) {
    switch jobs[id]?.stage {
    case .runs: stop(id, "no answer within \(numbers.turn.nanoseconds / 1_000_000_000)s")
    case .stops(let error): finish(id, .failure(error: error))
    case nil, .arrives, .waits, .starts, .ends, .over: return
    }
  }

  private mutating func stop(_ id: SessionPromptID, _ error: String) {
    jobs[id]?.stage = .stops(error: error)
    ring(.job(id), after: .seconds(5))
    out.append(.cancel(id))
  }

  mutating func kill(_ conversation: String, for asker: ConnectionID) {
    let line = talks[conversation]?.line ?? []
    guard let id = line.first(where: { jobs[$0].map { $0.ending == nil } ?? false }) else {
      return say(asker, .sessionKilled(conversation: conversation))
    }
    if jobs[id]?.killers.contains(asker) == false { jobs[id]?.killers.append(asker) }
    if jobs[id]?.stage == .runs {
      stop(id, "cancelled")
    } else if jobs[id]?.stage == .waits {
      finish(id, .failure(error: "cancelled"))
    }
  }

  mutating func handlerEnded(_ id: SessionPromptID, _ result: SessionResponse.Result) {
    switch jobs[id]?.stage {
    case .stops(let error): finish(id, .failure(error: error))
    case .runs:
      if case .success(let text) = result, text.utf8.count > numbers.responseBytes {
        let error = "the response is longer than \(numbers.responseBytes) bytes"
        return finish(id, .failure(error: error))
      }
      finish(id, result)
    case nil, .arrives, .waits, .starts, .ends, .over: return
    }
  }

  /// Has an answer stored, and the start of the next prompt with it.
  mutating func finish(_ id: SessionPromptID, _ result: SessionResponse.Result) {
    guard let job = jobs[id] else { return }
    let conversation = job.prompt.conversation
    bells[.job(id)] = nil
    let number = (clients[job.client]?.kept.lastNumber ?? 0) + 1
    clients[job.client]?.kept.lastNumber = number
    let answer = KeptSessionAnswer(message: fresh(), number: number, result: result, at: wall)
    jobs[id]?.stage = .ends(answer)
    jobs[id]?.output = ""
    write(id, answer)
    var changes = changes(of: id)
    var waits = [Wait.answered(id)]
    if queue.isEmpty, running < numbers.running, let next = next(in: conversation) {
      jobs[next]?.stage = .starts
      changes.append(.started(next))
      waits.append(.started(next))
    }
    store(changes, waits)
    fillPlaces()
    goOn(conversation)
  }

  mutating func answered(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let job = jobs[id], let answer = job.ending else { return }
    if failure != nil { return owe(id) }
    leaveLine(id)
    jobs[id]?.stage = .over(answer)
    over.append(id)
    if over.count == 1 { watchMemory() }
    var outcome = "success"
    if case .failure(let error) = answer.result {
      outcome = error == "cancelled" || error == "interrupted" ? error : "failure"
    }
    count("session_answered_total{outcome=\"\(outcome)\"}")
    shelve(id)
    deliver(id, isAborted: outcome == "cancelled" || outcome == "interrupted")
    join(id)
    forgetExcess()
    goOn(job.prompt.conversation)
  }

  /// The sockets that get the answer: the one that asked last, and the newest one of the client.
  private func receivers(of job: Job) -> [ConnectionID] {
    var all: [ConnectionID] = []
    if let asker = job.asker, isOpen(asker), sockets[asker]?.peer != nil { all = [asker] }
    let newest = clients[job.client]?.sockets.last { isOpen($0) }
    if let newest, all.first != newest { all.append(newest) }
    return all
  }

  private mutating func deliver(_ id: SessionPromptID, isAborted: Bool) {
    guard let job = jobs[id] else { return }
    let conversation = job.prompt.conversation
    for connection in receivers(of: job) {
      put(.response(id), on: connection)
      put(.turnEnd(conversation, isAborted: isAborted), on: connection)
      pump(connection)
    }
    for connection in job.killers where isOpen(connection) {
      say(connection, .sessionKilled(conversation: conversation))
    }
    jobs[id]?.killers = []
  }
}
