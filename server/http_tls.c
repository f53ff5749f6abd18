/*
 * server/http_tls.c - TLS below HTTP: what the library is started with, what a new connection shows
 * and asks for, and which certificate its client has proved to hold.
 *
 * A client may come without a certificate (people, before enrolment), so the handshake asks for one
 * and does not insist; it is judged when a request wants to be somebody by it. The result stays
 * with the connection, whose client cannot change; whether the certificate still counts is asked
 * anew with each request, so that a revocation holds from the next one on.
 */
#include <string.h>

#include <gnutls/abstract.h>
#include <gnutls/x509.h>

#include "base/file.h"
#include "server/http_core.h"
#include "server/tls_identity.h"

/* TLS 1.3, or 1.2 with forward secrecy and an AEAD; nothing older, no RSA key exchange. */
#define PRIORITY                                                                                   \
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:-CIPHER-ALL:+AES-128-GCM"         \
    ":+AES-256-GCM:+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1"                   \
    ":+GROUP-SECP384R1:%SERVER_PRECEDENCE"
#define HANDSHAKE_MAX (32 * 1024) /* bytes of one handshake message, a client's chain */

/* A connection for whose own credentials there is no memory falls back to the library's, which come
 * here: its handshake fails. */
static int no_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                          gnutls_pcert_st **certs, unsigned *cert_count, gnutls_ocsp_data_st **ocsp,
                          unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags)
{
    (void)session;
    (void)info;
    (void)certs;
    (void)cert_count;
    (void)ocsp;
    (void)ocsp_count;
    (void)key;
    (void)flags;
    return -1;
}

void http_tls_options(struct MHD_OptionItem out[HTTP_TLS_OPTIONS])
{
    const struct MHD_OptionItem options[HTTP_TLS_OPTIONS] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)PRIORITY},
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)(intptr_t)no_certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    memcpy(out, options, sizeof(options));
}

static gnutls_session_t session_of(struct MHD_Connection *con)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(con, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info == NULL ? NULL : info->tls_session;
}

void http_tls_begin(struct http_server *server, struct conn *conn, struct MHD_Connection *con)
{
    gnutls_session_t session = session_of(con);
    conn->identity = tls_identity_get(server->config.tls);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE,
                           tls_identity_credentials(conn->identity));
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
    gnutls_handshake_set_max_packet_length(session, HANDSHAKE_MAX);
}

void http_tls_end(struct conn *conn)
{
    tls_identity_put(conn->identity);
    conn->identity = NULL;
}

static enum tls_peer look(struct conn *conn, gnutls_session_t session)
{
    unsigned count = 0, status = 0;
    unsigned char digest[32];
    size_t len = sizeof(digest);
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    if (chain == NULL || count == 0)
        return TLS_PEER_NONE;
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) != 0)
        return TLS_PEER_UNTRUSTED;
    if (status != 0)
        return status == (GNUTLS_CERT_INVALID | GNUTLS_CERT_EXPIRED) ? TLS_PEER_EXPIRED
                                                                     : TLS_PEER_UNTRUSTED;
    if (gnutls_fingerprint(GNUTLS_DIG_SHA256, &chain[0], digest, &len) != 0)
        return TLS_PEER_UNTRUSTED;
    hex_encode(digest, len, conn->certificate);
    return TLS_PEER_GOOD;
}

enum tls_peer http_tls_peer(struct request *request)
{
    struct conn *conn = request->conn;
    if (conn->identity == NULL)
        return TLS_PEER_NONE;
    if (conn->certificate_peer == TLS_PEER_UNKNOWN)
        conn->certificate_peer = look(conn, session_of(request->con));
    return conn->certificate_peer;
}
