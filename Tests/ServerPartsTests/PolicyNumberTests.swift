import HoldfastCore
import HoldfastServerParts
import Testing

@testable import HoldfastAssistants
@testable import HoldfastMessageServer
@testable import HoldfastRelayServer
@testable import HoldfastSessionServer
@testable import HoldfastSyncServer

/// Tests that pin every number of every server policy, so that a change is deliberate.
@Suite struct PolicyNumberTests {
  @Test func `the numbers of shops`() {
    #expect(numbers(of: ShopServerPolicy()) == shopNumbers)
    #expect(ShopServerPolicy().workable == ShopServerPolicy())
  }

  @Test func `the numbers of the relay`() {
    #expect(numbers(of: RelayServerPolicy()) == relayNumbers)
    #expect(RelayServerPolicy().workable == RelayServerPolicy())
  }

  @Test func `the numbers of assistants`() {
    #expect(numbers(of: MCPPolicy()) == assistantsNumbers)
    #expect(MCPPolicy().workable == MCPPolicy())
  }

  @Test func `the numbers of the sign-in`() {
    #expect(numbers(of: OAuthPolicy()) == signInNumbers)
    #expect(OAuthPolicy().workable == OAuthPolicy())
    #expect([OAuthPolicy().refreshLife] == [RelayServerPolicy().grantLife])
    #expect([OAuthPolicy().codeLife * 2] == [RelayServerPolicy().grantWait])
    #expect(OAuthPolicy().codesPerPhone == RelayServerPolicy().tokensPerPhone)
  }

  @Test func `the numbers of health sync`() {
    #expect(numbers(of: SyncServerPolicy()) == healthSyncNumbers)
    #expect(SyncServerPolicy.maxBodyBytes == 4_194_304)
  }

  @Test func `the numbers of sessions`() {
    #expect(numbers(of: SessionServerPolicy()) == sessionsNumbers)
    #expect(SessionServerPolicy().workable == SessionServerPolicy())
  }

  @Test func `values below the minimum are raised to the minimum`() {
    var shop = ShopServerPolicy()
    (shop.pingInterval, shop.maxRequests) = (.zero, 0)
    #expect([shop.workable.pingInterval] == [.milliseconds(1)])
    #expect(shop.workable.maxRequests == 1)
    var relay = RelayServerPolicy()
    (relay.pingInterval, relay.maxCalls) = (.nanoseconds(999_999), -1)
    #expect([relay.workable.pingInterval] == [.milliseconds(1)])
    #expect(relay.workable.maxCalls == 1)
    var assistants = MCPPolicy()
    (assistants.idle, assistants.maxCalls) = (.zero, 0)
    #expect([assistants.workable.idle] == [.milliseconds(1)])
    #expect(assistants.workable.maxCalls == 1)
    var sessions = SessionServerPolicy()
    (sessions.heartbeat, sessions.maxRunning) = (.zero, 0)
    #expect([sessions.workable.heartbeat] == [.milliseconds(1)])
    #expect(sessions.workable.maxRunning == 1)
  }
}

/// Returns the counts and durations of a policy, one per line.
private func numbers(of policy: some Any) -> String {
  Mirror(reflecting: policy).children.compactMap { child in
    let isNumber = child.value is Int || child.value is Duration
    return isNumber ? "\(child.label ?? "") \(child.value)" : nil
  }.joined(separator: "\n")
}

private let shopNumbers = """
  backlogLimit 100
  maxBacklogBytes 131072
  socketsPerUser 5
  maxConnections 10000
  maxRequests 1024
  maxPostsPerShop 256
  maxCommitBytes 65536
  maxIdleRooms 4096
  forgetDelay 3.0 seconds
  forgetRetry 0.5 seconds
  forgetRetryLimit 60.0 seconds
  postInterval 0.05 seconds
  postBurst 40
  maxWatchedUsers 100000
  headCheck 5.0 seconds
  headCheckAlone 1.0 seconds
  cutOffGrace 30.0 seconds
  pingInterval 54.0 seconds
  pongWait 60.0 seconds
  closeWait 5.0 seconds
  drainGrace 1.0 seconds
  drainLimit 10.0 seconds
  socketRetry 5.0 seconds
  busyRetry 2.0 seconds
  clockLeeway 5.0 seconds
  """

private let relayNumbers = """
  pairLife 600.0 seconds
  tokenLife 7200.0 seconds
  grantLife 2592000.0 seconds
  renewalGrace 30.0 seconds
  grantWait 120.0 seconds
  tokenMemory 3600.0 seconds
  grace 600.0 seconds
  wrongPairs 5
  floodWrongPairs 2
  wrongPairsOfNetwork 50
  wrongWindow 600.0 seconds
  lockOut 900.0 seconds
  wrongInterval 0.1 seconds
  wrongBurst 600
  maxWatchedAddresses 100000
  callLimit 45.0 seconds
  returnWait 10.0 seconds
  syncedWait 5.0 seconds
  lease 25.0 seconds
  maxLeased 8
  pushGap 20.0 seconds
  pushInterval 180.0 seconds
  pushBurst 6
  maxSockets 10000
  socketsPerAddress 2500
  maxPhones 20000
  tokensPerPhone 8
  callsPerPhone 16
  maxCalls 4096
  maxWrites 4096
  maxEnded 32
  maxAnswerBytes 8388608
  maxGatheredBytes 67108864
  pingInterval 25.0 seconds
  pongWait 60.0 seconds
  closeWait 5.0 seconds
  drainGrace 1.0 seconds
  drainLimit 10.0 seconds
  storeRetry 5.0 seconds
  busyRetry 2.0 seconds
  """

private let assistantsNumbers = """
  maxSessions 4096
  idle 7200.0 seconds
  maxCalls 1024
  callsPerSession 16
  maxElicitations 1024
  elicitationInterval 10.0 seconds
  elicitationBurst 20
  elicitationLife 600.0 seconds
  busyRetry 2.0 seconds
  progressInterval 5.0 seconds
  commentInterval 15.0 seconds
  callLimit 45.0 seconds
  maxEventBytes 1000000
  maxBatchBytes 8388608
  """

private let signInNumbers = """
  codeLife 60.0 seconds
  codeMemory 3600.0 seconds
  accessLife 3600.0 seconds
  refreshLife 2592000.0 seconds
  maxCodes 4096
  codesPerPhone 8
  maxWaiting 1024
  maxDocumentWaiters 64
  waitersPerDocument 16
  maxBodyBytes 16384
  maxParameters 32
  fetchLimit 5.0 seconds
  maxDocumentBytes 65536
  maxFetches 16
  fetchesPerSource 2
  fetchInterval 3.0 seconds
  fetchBurst 10
  maxDocuments 256
  documentLife 300.0 seconds
  maxDocumentLife 86400.0 seconds
  failureLife 30.0 seconds
  busyRetry 2.0 seconds
  """

private let healthSyncNumbers = """
  maxRequests 64
  busyRetry 2.0 seconds
  storeRetry 30.0 seconds
  drainLimit 10.0 seconds
  """

private let sessionsNumbers = """
  maxSockets 2000
  socketsPerAddress 500
  socketsPerClient 8
  connectWait 30.0 seconds
  clockTolerance 30.0 seconds
  heartbeat 45.0 seconds
  pingInterval 30.0 seconds
  pongWait 90.0 seconds
  closeWait 5.0 seconds
  maxPromptBytes 524288
  maxSystemPromptBytes 131048
  promptsPerConversation 1000
  maxPrompts 10000
  maxPromptsBytes 67108864
  maxRunning 16
  promptInterval 0.001 seconds
  promptBurst 5000
  turnLimit 300.0 seconds
  cancelWait 5.0 seconds
  maxResponseBytes 1048576
  answersPerClient 1000
  answersBytesPerClient 16777216
  memory 2592000.0 seconds
  maxEnded 20000
  maxEndedBytes 67108864
  maxClients 10000
  clientsPerUser 32
  entriesPerConversation 2000
  maxHistoryBytes 67108864
  maxConversations 10000
  windowEntries 100
  maxSubscriptions 1000
  usualMessageBytes 102400
  maxMessageBytes 2097152
  queueBytes 262144
  maxQueued 4096
  maxWrites 4096
  storeRetry 2.0 seconds
  ackDelay 1.0 seconds
  drainGrace 1.0 seconds
  drainLimit 10.0 seconds
  drainRetry 5.0 seconds
  busyRetry 2.0 seconds
  """
