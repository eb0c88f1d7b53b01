#pragma once
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdint.h>

// Swift does not import macros that consist of other macros. This function makes the value
// available.
static inline uint64_t holdfast_tls_options(void) {
  return SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF
    | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;
}

// Swift does not import the macro OPENSSL_free.
static inline void holdfast_free(void *memory) { OPENSSL_free(memory); }

// The parts of a public key, a macro that consists of other macros.
static inline int holdfast_public_key(void) { return EVP_PKEY_PUBLIC_KEY; }

// OpenSSL keeps the pointers to names until the parameters are used, so they must be C literals: a
// Swift string passes a pointer that is valid for one call only.
static inline int holdfast_push_rsa(OSSL_PARAM_BLD *builder, const BIGNUM *n, const BIGNUM *e) {
  return OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n)
    && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e);
}

static inline int holdfast_push_p256(OSSL_PARAM_BLD *builder, const void *point, size_t count) {
  return OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0)
    && OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, count);
}
