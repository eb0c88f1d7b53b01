import HoldfastCore
import Testing

/// Tests of every number of every preset, so that no constant changes by accident.
@Suite struct PresetTests {
  @Test(arguments: zip(LinkPolicy.presets, presets))
  func `each preset has the expected numbers and failure actions`(
    policy: LinkPolicy, summary: String
  ) {
    let isRule = { (key: String) in key.hasPrefix("failure.") }
    let numbers = policy.values.filter { !isRule($0.key) }.map { "\($0.key) \($0.value)" }
    let rules = Dictionary(grouping: policy.values.filter { isRule($0.key) }) { $0.value }
    let actions = rules.filter { $0.key != "retry" }.sorted { $0.key < $1.key }.map {
      "\($0.key): " + $0.value.map { String($0.key.dropFirst(8)) }.joined(separator: " ")
    }
    #expect(([policy.name] + numbers + actions).joined(separator: "\n") == summary)
  }
}

/// The presets in order: their names, their numbers, and the failures that lead to more than a
/// plain retry.
private let presets = [
  """
  message-stream
  retry.first 1s,2s,4s,8s,16s
  retry.reconnect 0s,1s,2s,4s,8s
  retry.windows 10/1m
  retry.breaker off
  retry.stability 10s
  retry.provenByData true
  retry.serverJitter 5s
  retry.maxRetryAfter 15m
  gate.credentials true
  gate.refreshLead 1m
  gate.refreshTimeout 15s
  gate.debounce 2s
  gate.networkChange reconnect
  gate.background 0s hold
  gate.foreground 0s
  establish.milestone opened
  establish.timeout 5s
  establish.openTimeout 5s
  establish.prepare 10s
  liveness.silence 90s
  liveness.ping off
  liveness.degradedPing off
  liveness.poorPing off
  liveness.pongTimeout 10s
  liveness.pongRoundTrips 3
  liveness.pongTries 1
  liveness.idle off
  standby.interval 30s
  standby.jitter 0.1
  standby.probe 5m
  standby.slowProbe 15m
  refresh: unauthorized closedUnauthorized
  retryJittered: tooManyRequests serverError closedRestart
  standby: refused protocolError captivePortal otherStatus closedPolicy
  standbySlow: notFound unavailable
  stop: tls badRequest forbidden closedForbidden
  """,
  """
  health-relay-service
  retry.first 2s,2s
  retry.reconnect 2s,2s,4s,6s,8s,8s,9s,9s,9s,9s,9s
  retry.windows 30/1m
  retry.breaker off
  retry.stability 30s
  retry.provenByData false
  retry.serverJitter 2s
  retry.maxRetryAfter 1m
  gate.credentials false
  gate.refreshLead 1m
  gate.refreshTimeout 15s
  gate.debounce 0s
  gate.networkChange loss
  gate.background stay
  gate.foreground wait
  establish.milestone confirmed
  establish.timeout 10s
  establish.openTimeout 10s
  establish.prepare off
  liveness.silence off
  liveness.ping 25s
  liveness.degradedPing off
  liveness.poorPing off
  liveness.pongTimeout 10s
  liveness.pongRoundTrips 3
  liveness.pongTries 1
  liveness.idle 15m idle
  retryJittered: tooManyRequests unavailable serverError closedRestart
  stop: tls badRequest unauthorized forbidden closedUnauthorized closedForbidden \
  closedReplaced
  """,
  """
  health-relay-quick
  retry.first 2s,2s
  retry.reconnect 2s,2s
  retry.windows 30/1m
  retry.breaker off
  retry.stability 30s
  retry.provenByData false
  retry.serverJitter 2s
  retry.maxRetryAfter 1m
  gate.credentials false
  gate.refreshLead 1m
  gate.refreshTimeout 15s
  gate.debounce 0s
  gate.networkChange loss
  gate.background stay
  gate.foreground wait
  establish.milestone confirmed
  establish.timeout 10s
  establish.openTimeout 10s
  establish.prepare off
  liveness.silence off
  liveness.ping 25s
  liveness.degradedPing off
  liveness.poorPing off
  liveness.pongTimeout 10s
  liveness.pongRoundTrips 3
  liveness.pongTries 1
  liveness.idle 15m idle
  stop: tls badRequest unauthorized forbidden closedUnauthorized closedForbidden \
  closedReplaced
  """,
  """
  health-relay-foreground
  retry.first 2s,2s
  retry.reconnect 2s,2s
  retry.windows 30/1m
  retry.breaker off
  retry.stability 30s
  retry.provenByData false
  retry.serverJitter 2s
  retry.maxRetryAfter 1m
  gate.credentials false
  gate.refreshLead 1m
  gate.refreshTimeout 15s
  gate.debounce 0s
  gate.networkChange loss
  gate.background 0s idle
  gate.foreground wait
  establish.milestone confirmed
  establish.timeout 10s
  establish.openTimeout 10s
  establish.prepare off
  liveness.silence off
  liveness.ping 25s
  liveness.degradedPing off
  liveness.poorPing off
  liveness.pongTimeout 10s
  liveness.pongRoundTrips 3
  liveness.pongTries 1
  liveness.idle off
  stop: tls badRequest unauthorized forbidden closedUnauthorized closedForbidden \
  closedReplaced
  """,
  """
  session
  retry.first 1s*2 max 30s +-0.25 min 1s x20
  retry.reconnect 1s*2 max 30s +-0.25 min 1s x20
  retry.windows 10/1m
  retry.breaker 42/10m:1m
  retry.stability 30s
  retry.provenByData true
  retry.serverJitter 5s
  retry.maxRetryAfter 5m
  gate.credentials true
  gate.refreshLead 1m
  gate.refreshTimeout 15s
  gate.debounce 0s
  gate.networkChange reconnect
  gate.background 25s hold
  gate.foreground 0s
  gate.portalProbe 5s
  gate.portalWait 30s
  establish.milestone confirmed
  establish.timeout 15s
  establish.openTimeout 10s
  establish.prepare off
  liveness.silence 90s
  liveness.ping 30s
  liveness.degradedPing 45s
  liveness.poorPing 1m
  liveness.pongTimeout 5s
  liveness.pongRoundTrips 3
  liveness.pongTries 3
  liveness.idle off
  refresh: unauthorized closedUnauthorized
  retryJittered: tooManyRequests unavailable serverError closedRestart closedReplaced
  stop: tls badRequest forbidden closedForbidden
  """,
  """
  bottle-link
  retry.first none
  retry.reconnect 3s
  retry.windows 10/1m
  retry.breaker off
  retry.stability 5s
  retry.provenByData true
  retry.serverJitter 1s
  retry.maxRetryAfter 1m
  gate.credentials false
  gate.refreshLead 0s
  gate.refreshTimeout 15s
  gate.debounce 0s
  gate.networkChange loss
  gate.background 5s standby
  gate.foreground 500ms
  establish.milestone confirmed
  establish.timeout 15s
  establish.openTimeout 5s
  establish.prepare off
  liveness.silence off
  liveness.ping 25s
  liveness.degradedPing off
  liveness.poorPing off
  liveness.pongTimeout 10s
  liveness.pongRoundTrips 3
  liveness.pongTries 1
  liveness.idle 1m standby
  standby.rearm 1s
  standby.fastFailure 2s
  standby.floor 30s
  standby.background 8s
  standby.rest 30s
  """,
  """
  health-sync
  retry.first 1s,2s,4s,8s,16s
  retry.reconnect 5s*2 max 1h +-0.25 min 1s xunlimited
  retry.windows 10/1m
  retry.breaker off
  retry.stability 1m
  retry.provenByData true
  retry.serverJitter 5s
  retry.maxRetryAfter 6h
  """,
  """
  socket
  retry.first 1s*2 max 30s +-0.25 min 500ms xunlimited
  retry.reconnect 1s*2 max 30s +-0.25 min 500ms xunlimited
  retry.windows 10/1m
  retry.breaker off
  retry.stability 10s
  retry.provenByData true
  retry.serverJitter 5s
  retry.maxRetryAfter 15m
  gate.credentials false
  gate.refreshLead 1m
  gate.refreshTimeout 15s
  gate.debounce 0s
  gate.networkChange probe
  gate.background 25s hold
  gate.foreground 0s
  establish.milestone confirmed
  establish.timeout 15s
  establish.openTimeout 10s
  establish.prepare off
  liveness.silence off
  liveness.ping 25s
  liveness.degradedPing off
  liveness.poorPing off
  liveness.pongTimeout 10s
  liveness.pongRoundTrips 3
  liveness.pongTries 1
  liveness.idle off
  refresh: unauthorized
  retryJittered: tooManyRequests unavailable serverError closedRestart
  stop: tls badRequest forbidden
  """,
]
